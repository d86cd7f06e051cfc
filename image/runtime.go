package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/gowebpki/jcs"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agentsuite/agentsuite-llb/suite"
)

// Annotations of the runtime contract: what the suite declares beyond what a runtime configuration has
// members for. Their values are JSON text.
const (
	AnnotationEnvironment = "org.agentsuite.environment"
	AnnotationSecrets     = "org.agentsuite.secrets"
	AnnotationNetwork     = "org.agentsuite.network"
	AnnotationModel       = "org.agentsuite.model"
)

// runtimeVersion is the version of the runtime specification that a contract states: the oldest that
// has everything in it, since runtimes refuse what is newer than they are.
const runtimeVersion = "1.0.2"

// Contract is what the runtime contract says beyond the numeric user.
type Contract struct {
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	Cwd  string   `json:"cwd"`
	// Writable are the paths at which the runtime mounts empty writable directories, sorted.
	Writable    []string          `json:"writable,omitempty"`
	Annotations map[string]string `json:"annotations"`
}

func newContract(in Inputs) (Contract, error) {
	annotations, err := contractAnnotations(in)
	if err != nil {
		return Contract{}, err
	}
	p := newProcess(in)
	return Contract{Args: p.args(), Env: p.env, Cwd: p.dir, Writable: writablePaths(in), Annotations: annotations}, nil
}

// ContractOf returns the contract of an image that is made of a selection and runs as its config says.
func ContractOf(sel *suite.Selection, config ocispec.ImageConfig) (Contract, error) {
	in := Inputs{Selection: sel}
	annotations, err := contractAnnotations(in)
	if err != nil {
		return Contract{}, err
	}
	return Contract{
		Args: slices.Concat(config.Entrypoint, config.Cmd), Env: config.Env, Cwd: config.WorkingDir,
		Writable: writablePaths(in), Annotations: annotations,
	}, nil
}

// Input is a named input of the sandbox in an annotation of the contract.
type Input struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	// Delivery is env or file; only secrets have it.
	Delivery string `json:"delivery,omitempty"`
}

func contractAnnotations(in Inputs) (map[string]string, error) {
	values := map[string]any{}
	environment, secrets := sandboxInputs(in.Selection.Bundles)
	values[AnnotationEnvironment] = environment
	values[AnnotationSecrets] = secrets
	values[AnnotationNetwork] = destinations(in.Selection.Bundles)
	if in.Selection.Agent != nil {
		values[AnnotationModel] = in.Selection.Agent.Doc.Model
	}
	annotations := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, err := canonicalJSON(values[name])
		if err != nil {
			return nil, fmt.Errorf("encoding the annotation %s: %w", name, err)
		}
		annotations[name] = string(text)
	}
	return annotations, nil
}

// sandboxInputs is the union of what the bundles' processes are to be given. An input is required if any
// bundle requires it.
func sandboxInputs(bundles []suite.Bundle) (environment, secrets []Input) {
	plain, secret := map[Input]bool{}, map[Input]bool{}
	for _, b := range bundles {
		for _, e := range b.Variant.Environment {
			union := plain
			if e.Secret {
				union = secret
			}
			key := Input{Name: e.Name, Delivery: e.Delivery}
			union[key] = union[key] || e.Required
		}
	}
	list := func(union map[Input]bool) []Input {
		inputs := make([]Input, 0, len(union))
		for key, required := range union {
			inputs = append(inputs, Input{Name: key.Name, Required: required, Delivery: key.Delivery})
		}
		slices.SortFunc(inputs, func(a, b Input) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Delivery, b.Delivery))
		})
		return inputs
	}
	return list(plain), list(secret)
}

// destinations is the union of the network destinations of the bundles, as scheme://host:port.
func destinations(bundles []suite.Bundle) []string {
	urls := []string{}
	for _, b := range bundles {
		for _, n := range b.Variant.Network {
			urls = append(urls, n.Scheme+"://"+net.JoinHostPort(n.Host, strconv.Itoa(n.Port)))
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// canonicalJSON is the RFC 8785 form of a value.
func canonicalJSON(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

// RuntimeConfig is the runtime contract: a complete configuration by the OCI runtime specification that
// a runtime starts as it is, beside a directory rootfs with the image's filesystem. It grants nothing
// that the suite does not declare.
func (c Contract) RuntimeConfig(user User) *specs.Spec {
	return &specs.Spec{
		Version:  runtimeVersion,
		Hostname: "sandbox",
		Process: &specs.Process{
			User: specs.User{UID: user.UID, GID: user.GID},
			Args: c.Args,
			Env:  c.Env,
			Cwd:  c.Cwd,
			// Present and empty: absent would leave it to the runtime.
			Capabilities:    &specs.LinuxCapabilities{},
			NoNewPrivileges: true,
		},
		Root:        &specs.Root{Path: "rootfs", Readonly: true},
		Mounts:      append(systemMounts(), c.writableMounts(user)...),
		Annotations: c.Annotations,
		Linux: &specs.Linux{
			Resources: &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.MountNamespace}, {Type: specs.CgroupNamespace},
			},
			MaskedPaths: []string{
				"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
				"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
}

// systemMounts are the mounts that every Linux container has.
func systemMounts() []specs.Mount {
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
	}
}

func (c Contract) writableMounts(user User) []specs.Mount {
	var mounts []specs.Mount
	for _, w := range c.Writable {
		mounts = append(mounts, specs.Mount{Destination: w, Type: "tmpfs", Source: "tmpfs", Options: []string{
			"nosuid", "nodev", "mode=0700", fmt.Sprintf("uid=%d", user.UID), fmt.Sprintf("gid=%d", user.GID),
		}})
	}
	return mounts
}

// runtimeFile is the contract as the file of the metadata layer.
func (c Contract) runtimeFile(user User) (File, error) {
	text, err := canonicalJSON(c.RuntimeConfig(user))
	if err != nil {
		return File{}, fmt.Errorf("encoding the runtime contract: %w", err)
	}
	return generatedFile(RuntimePath, text), nil
}
