package image

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResolveUser(t *testing.T) {
	d := databases{
		passwd: []byte("root:x:0:0::/:\ntoor:x:0:0::/:\nbroken\nshort:x:1\napp:x:1000:1234::/:\r\n#comment\n+nis\nbig:x:4294967295:1::/:\n7:x:70:71::/:\nlast:x:9:10"),
		group:  []byte("root:x:0:\nstaff:x:50:app\nodd:x:none:\nodd:x:51:\n"),
	}
	for configured, want := range map[string]struct {
		user   User
		forced bool
		err    string
	}{
		"":                {user: nobody, forced: true},
		":":               {user: nobody, forced: true},
		":staff":          {user: nobody, forced: true},
		"root":            {user: nobody, forced: true},
		"toor":            {user: nobody, forced: true},
		"0":               {user: nobody, forced: true},
		"00":              {user: nobody, forced: true},
		"0:0":             {user: nobody, forced: true},
		"root:staff":      {user: nobody, forced: true},
		"app":             {user: User{1000, 1234}},
		"app:":            {user: User{1000, 1234}},
		"app:staff":       {user: User{1000, 50}},
		"app:7":           {user: User{1000, 7}},
		"app:root":        {user: User{1000, 0}},
		"1000":            {user: User{1000, 1234}},
		"1000:0":          {user: User{1000, 0}},
		"2000":            {user: User{2000, 2000}},
		"2000:staff":      {user: User{2000, 50}},
		"65532:65532":     {user: User{65532, 65532}},
		"4294967294":      {user: User{4294967294, 4294967294}},
		"7":               {user: User{7, 7}}, // a number is never a name
		"last":            {user: User{9, 10}},
		"app:odd":         {user: User{1000, 51}},
		"4294967295":      {err: `"4294967295" is above 4294967294, the highest user or group`},
		"app:99999999999": {err: `"99999999999" is above 4294967294, the highest user or group`},
		"nobody":          {err: `the user "nobody" is not in /etc/passwd`},
		"short":           {err: `the user "short" is not in /etc/passwd`},
		"big":             {err: `the user "big" is not in /etc/passwd`},
		"-1":              {err: `the user "-1" is not in /etc/passwd`},
		"app:nogroup":     {err: `the group "nogroup" is not in /etc/group`},
		"app:a:b":         {err: `the group "a:b" is not in /etc/group`},
	} {
		t.Run(configured, func(t *testing.T) {
			user, forced, err := d.resolveUser(configured)
			if want.err != "" {
				require.EqualError(t, err, want.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, want.user, user)
			require.Equal(t, want.forced, forced)
		})
	}
}
