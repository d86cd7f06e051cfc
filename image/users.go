package image

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// nobody is whom an image runs as that is not configured to run as somebody: the user that images
// without a distribution call nonroot.
var nobody = User{UID: 65532, GID: 65532}

// String renders the user as an image config states it.
func (u User) String() string { return fmt.Sprintf("%d:%d", u.UID, u.GID) }

// databases are the user and group databases of a filesystem.
type databases struct {
	passwd, group []byte
}

// resolveUser turns the configured user of an image into a numeric one. forced tells that the configured
// one is root, or that there is none, so that nobody takes its place.
func (d databases) resolveUser(configured string) (user User, forced bool, err error) {
	name, groupName, grouped := strings.Cut(configured, ":")
	var primary *uint32
	switch id, numeric, err := parseID(name); {
	case err != nil:
		return User{}, false, err
	case name == "":
		return nobody, true, nil
	case numeric:
		user.UID = id
		if account, ok := d.account(func(a account) bool { return a.uid == id }); ok {
			primary = &account.gid
		}
	default:
		account, ok := d.account(func(a account) bool { return a.name == name })
		if !ok {
			return User{}, false, fmt.Errorf("the user %s is not in /%s", problem.Quoted(name), passwdPath)
		}
		user.UID, primary = account.uid, &account.gid
	}
	if user.UID == 0 {
		return nobody, true, nil
	}
	switch id, numeric, err := parseID(groupName); {
	case err != nil:
		return User{}, false, err
	case grouped && groupName != "" && numeric:
		user.GID = id
	case grouped && groupName != "":
		if user.GID, err = d.groupID(groupName); err != nil {
			return User{}, false, err
		}
	case primary != nil:
		user.GID = *primary
	default:
		user.GID = user.UID
	}
	return user, false, nil
}

// parseID reads a name that is a number. The highest number means "no change" to the kernel and is
// nobody's.
func parseID(name string) (id uint32, numeric bool, err error) {
	if name == "" || strings.Trim(name, "0123456789") != "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || n == math.MaxUint32 {
		return 0, true, fmt.Errorf("%s is above %d, the highest user or group", problem.Quoted(name), uint32(math.MaxUint32-1))
	}
	return uint32(n), true, nil
}

type account struct {
	name     string
	uid, gid uint32
}

// account finds the first account that matches. Lines that are no account are passed over, as libc does.
func (d databases) account(match func(account) bool) (account, bool) {
	for line := range bytes.Lines(d.passwd) {
		fields := strings.Split(strings.TrimRight(string(line), "\r\n"), ":")
		if len(fields) < 4 {
			continue
		}
		uid, ok1 := idField(fields[2])
		gid, ok2 := idField(fields[3])
		if a := (account{fields[0], uid, gid}); ok1 && ok2 && match(a) {
			return a, true
		}
	}
	return account{}, false
}

func (d databases) groupID(name string) (uint32, error) {
	for line := range bytes.Lines(d.group) {
		fields := strings.Split(strings.TrimRight(string(line), "\r\n"), ":")
		if len(fields) < 3 || fields[0] != name {
			continue
		}
		if gid, ok := idField(fields[2]); ok {
			return gid, nil
		}
	}
	return 0, fmt.Errorf("the group %s is not in /%s", problem.Quoted(name), groupPath)
}

func idField(field string) (uint32, bool) {
	id, numeric, err := parseID(field)
	return id, numeric && err == nil
}
