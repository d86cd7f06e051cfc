package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

func (v *verification) checkRuntime() error {
	user, numeric := v.checkUser()
	v.checkProcess()
	if v.selection == nil {
		return nil
	}
	contract, err := image.ContractOf(v.selection, v.image.Config.Config.ImageConfig)
	if err != nil {
		return err
	}
	v.checkVolumes(contract)
	if spec := v.readContract(); spec != nil {
		c := contractCheck{v, spec, contract}
		c.process(user, numeric)
		c.confinement()
		c.mounts()
		// What an agent that cannot be read declares is not known.
		if v.report.Kind == suite.ToolProviderTarget || v.agent != nil {
			c.annotations()
		}
	}
	return nil
}

// checkUser checks the configured user, and returns it if it is numeric.
func (v *verification) checkUser() (image.User, bool) {
	configured := v.image.Config.Config.User
	uid, gid, grouped := strings.Cut(configured, ":")
	var user image.User
	var ok bool
	if user.UID, ok = parseID(uid); ok && grouped {
		user.GID, ok = parseID(gid)
	}
	switch {
	case !ok || !grouped:
		v.problem(problem.VerifyUser, "", "the image is configured to run as %s, which is not of the form UID:GID", problem.Quoted(configured))
		return image.User{}, false
	case user.UID == 0:
		v.problem(problem.VerifyUser, "", "the image is configured to run as %s, which is root", problem.Quoted(configured))
	}
	return user, true
}

func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == s
}

// checkProcess checks what the image runs.
func (v *verification) checkProcess() {
	config := v.image.Config.Config
	args := slices.Concat(config.Entrypoint, config.Cmd)
	if len(args) == 0 || args[0] == "" {
		v.problem(problem.VerifyProcess, "", "the config states no process to run: it has neither entrypoint nor command")
		return
	}
	if !path.IsAbs(config.WorkingDir) {
		v.problem(problem.VerifyProcess, "", "the working directory is %s, which is no absolute path", problem.Quoted(config.WorkingDir))
	}
	if v.report.Kind == suite.ToolProviderTarget && v.selection != nil {
		variant := v.selection.Bundles[0].Variant
		want := append([]string{variant.Entrypoint}, variant.Arguments...)
		if !slices.Equal(config.Entrypoint, want) || len(config.Cmd) > 0 {
			v.problem(problem.VerifyProcess, "", "the config runs %s, the variant's entrypoint with its arguments is %s", quotedList(args), quotedList(want))
		}
	}
	if h := v.opts.Harness; h != nil && v.report.Kind == suite.AgentTarget {
		if want := slices.Concat(h.Config.Config.Entrypoint, h.Config.Config.Cmd); !slices.Equal(args, want) {
			v.problem(problem.VerifyProcess, "", "the config runs %s, that of the harness %s", quotedList(args), quotedList(want))
		}
	}
	v.checkExecutable(args[0])
}

func quotedList(args []string) string {
	const most = 8
	var quoted []string
	for i, a := range args {
		if i == most {
			quoted = append(quoted, "…")
			break
		}
		quoted = append(quoted, problem.Quoted(a))
	}
	return "[" + strings.Join(quoted, " ") + "]"
}

func (v *verification) checkExecutable(program string) {
	candidates := []string{program}
	switch {
	case path.IsAbs(program):
	case strings.Contains(program, "/"):
		candidates = []string{path.Join("/", v.image.Config.Config.WorkingDir, program)}
	default:
		candidates = nil
		for _, dir := range searchPath(v.image.Config.Config.Env) {
			candidates = append(candidates, path.Join("/", dir, program))
		}
	}
	found := "is not in the filesystem"
	for _, candidate := range candidates {
		target, e, ok := abi.Resolve(v.lookup, candidate)
		switch {
		case ok && e.Type == content.File && e.Mode&0o111 != 0:
			return
		case ok:
			found = fmt.Sprintf("leads to /%s, a %s with mode %04o, which cannot be executed", target, e.Type, e.Mode)
		}
	}
	v.problem(problem.VerifyProcess, "", "the config runs %s, which %s", problem.Quoted(program), found)
}

func (v *verification) checkVolumes(contract image.Contract) {
	volumes := slices.Sorted(maps.Keys(v.image.Config.Config.Volumes))
	if !slices.Equal(volumes, contract.Writable) {
		v.problem(problem.VerifyVolumes, "", "the volumes of the config are %s, the writable paths of the bundles %s", quotedList(volumes), quotedList(contract.Writable))
	}
}

// readContract reads the runtime contract.
func (v *verification) readContract() *specs.Spec {
	text, ok := v.kept[image.RuntimePath]
	if !ok {
		v.problem(problem.VerifyContract, image.RuntimePath, "/%s is missing", image.RuntimePath)
		return nil
	}
	_, problems := strictjson.Parse(image.RuntimePath, text, strictjson.DefaultLimits())
	for _, p := range problems {
		v.found.Add(problem.Problem{Rule: problem.VerifyContract, Place: p.Place, Message: p.Message})
	}
	if len(problems) > 0 {
		return nil
	}
	// What this does not know of could grant anything.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	spec := &specs.Spec{}
	if err := decoder.Decode(spec); err != nil {
		v.problem(problem.VerifyContract, image.RuntimePath, "it is no configuration by the OCI runtime specification: %v", err)
		return nil
	}
	return spec
}

// contractCheck checks the runtime contract against what it should be.
type contractCheck struct {
	*verification
	spec *specs.Spec
	want image.Contract
}

func (c contractCheck) wrong(pointer, format string, args ...any) {
	c.found.Report(problem.VerifyContract, problem.Place{Path: image.RuntimePath, Pointer: pointer}, format, args...)
}

func (c contractCheck) process(user image.User, numeric bool) {
	p := c.spec.Process
	if p == nil {
		c.wrong("", "the contract has no process")
		return
	}
	if got := (image.User{UID: p.User.UID, GID: p.User.GID}); numeric && got != user || p.User.Username != "" || len(p.User.AdditionalGids) > 0 {
		c.wrong("/process/user", "the contract runs as %s with %d additional groups, the config as %s", got, len(p.User.AdditionalGids), user)
	}
	if !slices.Equal(p.Args, c.want.Args) {
		c.wrong("/process/args", "the contract runs %s, the config %s", quotedList(p.Args), quotedList(c.want.Args))
	}
	if !slices.Equal(p.Env, c.want.Env) {
		c.wrong("/process/env", "the contract's environment is not the config's")
	}
	if p.Cwd != c.want.Cwd {
		c.wrong("/process/cwd", "the contract starts in %s, the config in %s", problem.Quoted(p.Cwd), problem.Quoted(c.want.Cwd))
	}
	if !p.NoNewPrivileges {
		c.wrong("/process/noNewPrivileges", "the contract does not ask for no_new_privs")
	}
	switch caps := p.Capabilities; {
	case caps == nil:
		c.wrong("/process/capabilities", "the contract leaves the capabilities to the runtime; it must list none")
	case len(caps.Bounding)+len(caps.Effective)+len(caps.Permitted)+len(caps.Inheritable)+len(caps.Ambient) > 0:
		c.wrong("/process/capabilities", "the contract grants capabilities; it must grant none")
	}
}

// masked and readOnly are paths of the kernel that every sandbox must not read, or not write.
var (
	masked   = []string{"/proc/kcore", "/proc/keys", "/sys/firmware"}
	readOnly = []string{"/proc/sys", "/proc/sysrq-trigger"}
)

// namespaces are those that every sandbox has of its own.
var namespaces = []specs.LinuxNamespaceType{specs.PIDNamespace, specs.NetworkNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.MountNamespace}

func (c contractCheck) confinement() {
	if root := c.spec.Root; root == nil || !root.Readonly || root.Path != "rootfs" {
		c.wrong("/root", `the contract's root is not the read-only directory "rootfs"`)
	}
	if c.spec.Hooks != nil {
		c.wrong("/hooks", "the contract has hooks, which run outside of the sandbox")
	}
	linux := c.spec.Linux
	if linux == nil {
		c.wrong("", "the contract has no Linux part, so nothing separates the sandbox")
		return
	}
	for _, kind := range namespaces {
		if !slices.Contains(linux.Namespaces, specs.LinuxNamespace{Type: kind}) {
			c.wrong("/linux/namespaces", "the contract has no new %s namespace", kind)
		}
	}
	for i, n := range linux.Namespaces {
		if n.Path != "" {
			c.wrong(strictjson.Pointer("linux", "namespaces", i), "the contract enters the existing %s namespace %s", n.Type, problem.Quoted(n.Path))
		}
	}
	if len(linux.Devices) > 0 {
		c.wrong("/linux/devices", "the contract brings devices")
	}
	if r := linux.Resources; r != nil && slices.ContainsFunc(r.Devices, func(d specs.LinuxDeviceCgroup) bool { return d.Allow }) {
		c.wrong("/linux/resources/devices", "the contract allows devices")
	}
	if len(linux.Sysctl) > 0 {
		c.wrong("/linux/sysctl", "the contract sets kernel parameters")
	}
	for _, p := range masked {
		if !slices.Contains(linux.MaskedPaths, p) {
			c.wrong("/linux/maskedPaths", "the contract does not mask %s", p)
		}
	}
	for _, p := range readOnly {
		if !slices.Contains(linux.ReadonlyPaths, p) {
			c.wrong("/linux/readonlyPaths", "the contract does not make %s read-only", p)
		}
	}
}

// systemMounts are what every container has, by destination: the type of the filesystem.
var systemMounts = map[string]string{
	"/proc": "proc", "/dev": "tmpfs", "/dev/pts": "devpts", "/dev/shm": "tmpfs", "/dev/mqueue": "mqueue", "/sys": "sysfs",
}

func (c contractCheck) mounts() {
	mounted := map[string]bool{}
	for i, m := range c.spec.Mounts {
		at := strictjson.Pointer("mounts", i)
		system, known := systemMounts[m.Destination]
		writable := slices.Contains(c.want.Writable, m.Destination)
		switch {
		case slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind"):
			c.wrong(at, "the contract binds %s of the host to %s", problem.Quoted(m.Source), problem.Quoted(m.Destination))
		case writable && !isWritableMount(m):
			c.wrong(at, "the mount at %s is not an empty tmpfs with nosuid and nodev", problem.Quoted(m.Destination))
		case !writable && (!known || m.Type != system):
			c.wrong(at, "the contract mounts %s at %s, which is neither a writable path of a bundle nor what every container has", problem.Quoted(m.Type), problem.Quoted(m.Destination))
		case m.Destination == "/sys" && !slices.Contains(m.Options, "ro"):
			c.wrong(at, "the contract mounts /sys writable")
		}
		mounted[m.Destination] = true
	}
	for _, w := range c.want.Writable {
		if !mounted[w] {
			c.wrong("/mounts", "the contract mounts nothing at %s, which a bundle needs writable", problem.Quoted(w))
		}
	}
}

// isWritableMount tells whether a mount is what a writable path gets. With tmpcopyup runtimes would fill it
// from the image.
func isWritableMount(m specs.Mount) bool {
	has := func(option string) bool { return slices.Contains(m.Options, option) }
	return m.Type == "tmpfs" && has("nosuid") && has("nodev") && !has("ro") && !has("tmpcopyup")
}

func (c contractCheck) annotations() {
	if maps.Equal(c.spec.Annotations, c.want.Annotations) {
		return
	}
	names := maps.Clone(c.want.Annotations)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, c.spec.Annotations)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		got, stated := c.spec.Annotations[name]
		want, declared := c.want.Annotations[name]
		at := strictjson.Pointer("annotations", name)
		switch {
		case !stated:
			c.wrong(at, "the contract lacks the annotation %s", name)
		case !declared:
			c.wrong(at, "the contract has the annotation %s, which follows from nothing that the suite declares", problem.Quoted(name))
		case got != want:
			c.wrong(at, "the annotation %s is not what the suite declares: %s instead of %s", name, problem.Quoted(got), problem.Quoted(want))
		}
	}
}
