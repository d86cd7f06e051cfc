package verify_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/image/verify"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

const (
	toolsDir   = ".agentsuite/tool-providers/tools/1.0.0"
	runtimeDir = ".agentsuite/tool-providers/runtime/1.0.0"
)

// broken is an image with one fault, and the problems that it must give: "rule path: message", the
// message as far as it is written.
type broken struct {
	target string // the agent if empty
	spoil  func(b *built)
	want   []string
}

// TestVerifyBroken holds every rule by an image that breaks it.
func TestVerifyBroken(t *testing.T) {
	tests := map[string]broken{
		// ASI-BIND-001
		"no sandbox image": {"", func(b *built) {
			b.layers = b.layers[:1]
			b.config.Config.Labels = nil
		}, []string{
			"verify-kind : the image has neither /.agentsuite/binding.json nor /.agentsuite/tool-provider-composition.json, so it is no sandbox image",
			"verify-inventory .agentsuite/inventory.json: /.agentsuite/inventory.json is missing",
		}},
		"of both kinds": {"", func(b *built) { b.label(image.LabelToolProviderCompositionDigest, "sha256:0") }, []string{
			"verify-kind : the image has a binding and a tool provider composition; it is built of one or the other",
		}},
		"binding missing": {"", func(b *built) { b.remove(image.BindingPath) }, []string{
			"verify-binding .agentsuite/binding.json: /.agentsuite/binding.json is missing",
		}},
		"binding that is no JSON": {"", func(b *built) { b.entry(image.BindingPath).Content = "{" }, []string{"verify-binding .agentsuite/binding.json: "}},
		"binding with more members": {"", func(b *built) {
			b.edit(image.BindingPath, func(doc object) { doc["more"] = true })
			b.rebind()
		}, []string{"verify-binding .agentsuite/binding.json: "}},
		"binding label missing": {"", func(b *built) { delete(b.config.Config.Labels, image.LabelBindingDigest) }, []string{
			"verify-binding-label : the label org.agentsuite.binding.digest is missing; /.agentsuite/binding.json is sha256:",
		}},
		"binding label of another binding": {"", func(b *built) { b.label(image.LabelBindingDigest, "sha256:0") }, []string{
			`verify-binding-label : the label org.agentsuite.binding.digest is "sha256:0", /.agentsuite/binding.json is sha256:`,
		}},
		"binding for another platform": {"", func(b *built) {
			b.edit(image.BindingPath, func(doc object) { doc["platform"] = object{"os": "linux", "architecture": "arm64"} })
			b.rebind()
		}, []string{
			"verify-binding-platform .agentsuite/binding.json: the record is for linux/arm64, the image's config for linux/amd64",
			"verify-binding-platform .agentsuite/composition.json: the composition is for linux/amd64, the binding for linux/arm64",
		}},
		"index for another platform": {"", func(b *built) { b.stated = suite.Platforms()[1] }, []string{
			"verify-binding-platform : the index offers the image for linux/arm64, its config is for linux/amd64",
		}},
		"inventory for another platform": {"", func(b *built) {
			text := b.entry(image.InventoryPath).Content
			b.inventory([]byte(strings.Replace(text, `"architecture":"amd64"`, `"architecture":"arm64"`, 1)))
		}, []string{
			"verify-binding-platform .agentsuite/inventory.json: the record is for linux/arm64, the image's config for linux/amd64",
		}},
		"labels that repeat untruly": {"", func(b *built) {
			for _, label := range []string{image.LabelSuiteDigest, image.LabelAgent, image.LabelBuildProfile, image.LabelInventoryDigest, image.LabelCompositionDigest} {
				b.label(label, "other")
			}
		}, []string{
			`verify-label : the label org.agentsuite.agent is "other", the binding states writer`,
			`verify-label : the label org.agentsuite.build-profile is "other", the binding states default`,
			`verify-label : the label org.agentsuite.composition.digest is "other", the binding states sha256:`,
			`verify-label : the label org.agentsuite.inventory.digest is "other", /.agentsuite/inventory.json states sha256:`,
			`verify-label : the label org.agentsuite.suite.digest is "other", the binding states sha256:`,
		}},

		// ASI-PROVIDER-001
		"provider composition missing": {"tools@1.0.0", func(b *built) {
			b.remove(image.ToolProviderCompositionPath)
			b.reseal()
		}, []string{"verify-provider .agentsuite/tool-provider-composition.json: /.agentsuite/tool-provider-composition.json is missing"}},
		"provider composition with a wrong type": {"tools@1.0.0", func(b *built) {
			b.edit(image.ToolProviderCompositionPath, func(doc object) { doc["id"] = 1 })
			b.reseal()
		}, []string{"verify-provider .agentsuite/tool-provider-composition.json: "}},
		"provider composition changed": {"tools@1.0.0", func(b *built) {
			b.edit(image.ToolProviderCompositionPath, func(doc object) { doc["buildProfile"] = "other" })
			b.reseal()
		}, []string{
			"verify-provider-label : the label org.agentsuite.tool-provider-composition.digest is",
			`verify-label : the label org.agentsuite.build-profile is "default", the composition states other`,
		}},
		"provider label missing": {"tools@1.0.0", func(b *built) { delete(b.config.Config.Labels, image.LabelToolProviderCompositionDigest) }, []string{
			"verify-provider-label : the label org.agentsuite.tool-provider-composition.digest is missing",
		}},
		"provider labels that repeat untruly": {"tools@1.0.0", func(b *built) {
			b.label(image.LabelToolProvider, "other@1.0.0")
			b.label(image.LabelSuiteDigest, "none")
		}, []string{
			`verify-label : the label org.agentsuite.suite.digest is "none", which is no digest`,
			`verify-label : the label org.agentsuite.tool-provider is "other@1.0.0", the composition states tools@1.0.0`,
		}},
		"provider index for another platform": {"tools@1.0.0", func(b *built) { b.stated = suite.Platforms()[1] }, []string{
			"verify-provider-platform : the index offers the image for linux/arm64, its config is for linux/amd64",
		}},

		// ASI-SRC-001
		"composition of another agent": {"", func(b *built) {
			b.edit(image.CompositionPath, func(doc object) { doc["agent"] = "reader" })
			b.recompose()
			b.reseal()
		}, []string{
			"verify-source .agentsuite/agent.json: the agent is writer, the composition is one of reader",
			"verify-source .agentsuite/binding.json: the binding is of the agent writer, the composition of reader",
		}},
		"composition with another profile": {"", func(b *built) {
			b.edit(image.CompositionPath, func(doc object) { doc["buildProfile"] = "other" })
			b.recompose()
			b.reseal()
		}, []string{"verify-source .agentsuite/binding.json: the binding states the build profile default, the composition other"}},
		"composition that the binding does not state": {"", func(b *built) {
			b.entry(image.CompositionPath).Content += "\n"
			b.reseal()
		}, []string{"verify-source .agentsuite/binding.json: /.agentsuite/composition.json is sha256:"}},
		"composition without the agent's provider": {"", func(b *built) {
			b.edit(image.CompositionPath, func(doc object) { doc["toolProviders"] = []any{} })
			b.recompose()
			b.reseal()
		}, []string{"verify-source .agentsuite/composition.json: the composition lacks tools@1.0.0, which the agent requires"}},
		"agent without the composition's provider": {"", func(b *built) {
			b.edit(image.AgentPath, func(doc object) { doc["toolProviders"] = []any{} })
			b.reseal()
		}, []string{"verify-source .agentsuite/composition.json: the composition has tools@1.0.0, which the agent does not require"}},
		"agent missing": {"", func(b *built) {
			b.remove(image.AgentPath)
			b.reseal()
		}, []string{"verify-document .agentsuite/agent.json: /.agentsuite/agent.json is missing"}},
		"agent with an unknown member": {"", func(b *built) {
			b.edit(image.AgentPath, func(doc object) { doc["policy"] = "x" })
			b.reseal()
		}, []string{"verify-document .agentsuite/agent.json: "}},
		"instructions missing": {"", func(b *built) {
			b.remove(image.InstructionsPath)
			b.reseal()
		}, []string{"verify-document .agentsuite/instructions.md: /.agentsuite/instructions.md is missing"}},
		"instructions changed": {"", func(b *built) {
			b.entry(image.InstructionsPath).Content = "Do something else.\n"
			b.reseal()
		}, []string{"verify-source .agentsuite/agent.json: /.agentsuite/instructions.md is sha256:"}},
		"manifest missing": {"", func(b *built) {
			b.remove(toolsDir + "/tool-provider.json")
			b.reseal()
		}, []string{"verify-document " + toolsDir + "/tool-provider.json: /" + toolsDir + "/tool-provider.json is missing"}},
		"manifest changed": {"", func(b *built) {
			b.edit(toolsDir+"/tool-provider.json", func(doc object) { doc["revision"] = "other" })
			b.reseal()
		}, []string{"verify-source .agentsuite/composition.json: the embedded manifest of tools@1.0.0 is sha256:"}},
		"manifest of another provider": {"", func(b *built) {
			b.entry(runtimeDir + "/tool-provider.json").Content = strings.ReplaceAll(b.entry(runtimeDir+"/tool-provider.json").Content, `"version": "1.0.0"`, `"version": "1.0.1"`)
			b.reseal()
		}, []string{
			"verify-source " + runtimeDir + "/tool-provider.json: the manifest in the place of runtime@1.0.0 is that of runtime@1.0.1",
		}},
		"manifest of a dependency missing": {"", func(b *built) {
			b.remove(runtimeDir + "/tool-provider.json")
			b.reseal()
		}, []string{"verify-document " + runtimeDir + "/tool-provider.json: /" + runtimeDir + "/tool-provider.json is missing"}},
		"variant changed": {"", func(b *built) {
			b.entry(runtimeDir + "/tool-provider.json").Content = strings.ReplaceAll(b.entry(runtimeDir+"/tool-provider.json").Content, "x86-64-v1", "x86-64-v2")
			b.reseal()
		}, []string{"verify-source " + runtimeDir + "/tool-provider.json: the variant is sha256:"}},
		"variant that the record does not state": {"", func(b *built) {
			b.edit(image.CompositionPath, func(doc object) {
				doc["toolProviders"].([]any)[0].(object)["variantDigest"] = "sha256:" + strings.Repeat("0", 64)
			})
			b.recompose()
			b.reseal()
		}, []string{"verify-source .agentsuite/composition.json: the variant of tools@1.0.0 for linux/amd64 is sha256:"}},
		"variant for another platform": {"", func(b *built) {
			b.entry(toolsDir + "/tool-provider.json").Content = strings.ReplaceAll(b.entry(toolsDir+"/tool-provider.json").Content, "amd64", "arm64")
			b.reseal()
		}, []string{
			"verify-source .agentsuite/composition.json: the embedded manifest of tools@1.0.0 has no variant for linux/amd64",
			"verify-source .agentsuite/composition.json: the embedded manifest of tools@1.0.0 is sha256:",
			"verify-source " + toolsDir + "/tool-provider.json: the variant is sha256:",
		}},
		"tool schema missing": {"", func(b *built) {
			b.remove(toolsDir + "/schemas/tools_call.input.json")
			b.reseal()
		}, []string{"verify-document " + toolsDir + "/schemas/tools_call.input.json: /" + toolsDir + "/schemas/tools_call.input.json is missing"}},
		"tool schema changed": {"", func(b *built) {
			b.entry(toolsDir + "/schemas/tools_call.output.json").Content = "{}"
			b.reseal()
		}, []string{"verify-source " + toolsDir + "/tool-provider.json: /" + toolsDir + "/schemas/tools_call.output.json is sha256:"}},

		// ASI-FS-001
		"device": {"", func(b *built) {
			e := file("device", 0o600, "")
			e.Typeflag = '3'
			b.add(e)
		}, []string{"image-entry-type device: /device is a character device"}},
		"inventory missing": {"", func(b *built) { b.remove(image.InventoryPath) }, []string{
			"verify-inventory .agentsuite/inventory.json: /.agentsuite/inventory.json is missing",
		}},
		"inventory that is no JSON": {"", func(b *built) { b.inventory([]byte("[]")) }, []string{"verify-inventory .agentsuite/inventory.json: it is no inventory: "}},
		"inventory with white space": {"", func(b *built) { b.inventory([]byte(b.entry(image.InventoryPath).Content + "\n")) }, []string{
			"verify-inventory .agentsuite/inventory.json: it is no inventory in canonical form: it differs from one at byte ",
		}},
		"inventory with a repeated member": {"", func(b *built) {
			b.inventory([]byte(strings.Replace(b.entry(image.InventoryPath).Content, `"uid":0`, `"uid":0,"uid":0`, 1)))
		}, []string{"verify-inventory .agentsuite/inventory.json: it is no inventory in canonical form"}},
		"inventory that is not sorted": {"", func(b *built) {
			b.editInventory(func(entries []image.Entry) []image.Entry { slices.Reverse(entries); return entries })
		}, []string{"verify-inventory .agentsuite/inventory.json: the entry "}},
		"inventory that the binding does not state": {"", func(b *built) {
			b.edit(image.BindingPath, func(doc object) { doc["inventory"].(object)["size"] = 1 })
			b.rebind()
		}, []string{"verify-inventory-digest .agentsuite/binding.json: /.agentsuite/inventory.json is sha256:"}},
		"file that the inventory does not list": {"", func(b *built) { b.add(file("usr/bin/extra", 0o755, "extra")) }, []string{
			"verify-filesystem usr/bin/extra: the filesystem has /usr/bin/extra, which the inventory does not list",
		}},
		"listed file that is missing": {"", func(b *built) { b.add(ocitest.Whiteout("etc/group")) }, []string{
			"verify-filesystem etc/group: the inventory lists /etc/group, which the filesystem does not have",
		}},
		"listed files that differ": {"", func(b *built) {
			b.add(file("etc/group", 0o664, "root:x:0:\n"), file("etc/passwd", 0o644, "x").Owned(0, 5), symlink("bin", "./usr/bin"), directory("tmp", 0o777), file("etc/ca.crt", 0o644, "Certificates"))
		}, []string{
			`verify-filesystem bin: /bin is listed and found differently: link target "usr/bin" and "./usr/bin"`,
			"verify-filesystem etc/ca.crt: /etc/ca.crt is listed and found differently: bytes sha256:",
			"verify-filesystem etc/group: /etc/group is listed and found differently: mode 0644 and 0664",
			"verify-filesystem etc/passwd: /etc/passwd is listed and found differently: owner 0:0 and 0:5, size ",
			"verify-filesystem tmp: /tmp is listed and found differently: mode 1777 and 0777",
		}},
		"metadata that is writable": {"", func(b *built) {
			b.entry(image.AgentPath).Mode = 0o644
			b.entry(image.MetadataDir).Mode = 0o755
			b.entry(image.BindingPath).Uid = 1
			b.reseal()
		}, []string{
			"verify-metadata .agentsuite: /.agentsuite is not as metadata is: mode 0555 and 0755",
			"verify-metadata .agentsuite/agent.json: /.agentsuite/agent.json is not as metadata is: mode 0444 and 0644",
			"verify-metadata .agentsuite/binding.json: /.agentsuite/binding.json is not as metadata is: owner 0:0 and 1:0",
		}},
		"metadata that nobody accounts for": {"", func(b *built) {
			b.add(file(".agentsuite/extra", 0o444, ""), directory(".agentsuite/tool-providers/other", 0o555))
			b.reseal()
		}, []string{
			"verify-metadata .agentsuite/extra: /.agentsuite/extra is none of the image's records",
			"verify-metadata .agentsuite/tool-providers/other: /.agentsuite/tool-providers/other is none of the image's records",
		}},
		"metadata that is a symlink": {"", func(b *built) {
			b.entry(image.InstructionsPath).Header = symlink(image.InstructionsPath, "agent.json").Header
			b.entry(image.InstructionsPath).Content = ""
			b.reseal()
		}, []string{
			"verify-document .agentsuite/instructions.md: /.agentsuite/instructions.md is missing",
			"verify-metadata .agentsuite/instructions.md: /.agentsuite/instructions.md is not as metadata is: a file and a symlink",
		}},
		"bundle changed": {"", func(b *built) {
			b.entry("opt/tools/share/data.txt").Content = "other"
			b.entry("opt/tools/share/second.txt").Mode = 0o666
			b.entry("opt/tools/share/link").Linkname = "second.txt"
			b.remove("opt/runtime/bin/helper")
			b.reseal()
		}, []string{
			"verify-bundle opt/runtime/bin/helper: /opt/runtime/bin/helper of bundle runtime@1.0.0 is not in the filesystem",
			"verify-bundle opt/tools/share/data.txt: /opt/tools/share/data.txt of bundle tools@1.0.0 is not as its inventory says: size 4 and 5",
			`verify-bundle opt/tools/share/link: /opt/tools/share/link of bundle tools@1.0.0 is not as its inventory says: link target "data.txt" and "second.txt"`,
			"verify-bundle opt/tools/share/second.txt: /opt/tools/share/second.txt of bundle tools@1.0.0 is not as its inventory says: mode 0644 and 0666",
		}},
		"components that are none": {"", func(b *built) {
			b.editInventory(func(entries []image.Entry) []image.Entry {
				for i := range entries {
					switch entries[i].Path {
					case "etc/group":
						entries[i].Component = "other@1.0.0"
					case "etc/passwd":
						entries[i].Component = "tools@1.0.0"
					case "tmp":
						entries[i].Component = image.ComponentMetadata
					case image.AgentPath:
						entries[i].Component = image.ComponentRuntimeBase
					}
				}
				return entries
			})
		}, []string{
			`verify-component .agentsuite/agent.json: the inventory says that "runtime-base" brings /.agentsuite/agent.json; what is in /.agentsuite`,
			`verify-component etc/group: the inventory says that "other@1.0.0" brings /etc/group, but the image is not made of that`,
			"verify-component etc/passwd: the inventory says that bundle tools@1.0.0 brings /etc/passwd, which is not among its files",
			`verify-component tmp: the inventory says that "agentsuite" brings /tmp; what is in /.agentsuite`,
		}},
		"harness in a tool provider image": {"tools@1.0.0", func(b *built) {
			b.editInventory(func(entries []image.Entry) []image.Entry {
				entries[len(entries)-1].Component = image.ComponentHarness
				return entries
			})
		}, []string{`verify-component var/cache: the inventory says that "harness" brings /var/cache, but the image is not made of that`}},
		"file in a writable path": {"", func(b *built) {
			b.add(directory("var/cache/tools", 0o755), file("var/cache/tools/left", 0o644, ""))
			b.components["var/cache/tools"], b.components["var/cache/tools/left"] = image.ComponentHarness, image.ComponentHarness
			b.reseal()
		}, []string{
			`verify-writable var/cache/tools: bundle tools@1.0.0 needs "/var/cache/tools" writable, but harness brings /var/cache/tools, which would be hidden`,
			`verify-writable var/cache/tools/left: bundle tools@1.0.0 needs "/var/cache/tools" writable, but harness brings /var/cache/tools/left`,
		}},
		"file behind a writable path that is a symlink": {"", func(b *built) {
			b.add(symlink("var/cache/tools", "../../opt"))
			b.reseal()
		}, []string{
			`verify-writable opt/runtime: bundle tools@1.0.0 needs "/var/cache/tools" writable, but runtime@1.0.0 brings`,
			`verify-writable opt/runtime/bin: `, `verify-writable opt/runtime/bin/helper: `,
			`verify-writable opt/tools: `, `verify-writable opt/tools/bin: `, `verify-writable opt/tools/bin/tools: `, `verify-writable opt/tools/lib: `,
			`verify-writable opt/tools/lib/libown.so: `, `verify-writable opt/tools/share: `, `verify-writable opt/tools/share/data.txt: `,
			`verify-writable opt/tools/share/link: `, `verify-writable opt/tools/share/second.txt: `,
		}},
		"writable path that is a file": {"", func(b *built) {
			b.add(file("var/cache/tools", 0o644, ""))
			b.reseal()
		}, []string{`verify-writable var/cache/tools: bundle tools@1.0.0 needs "/var/cache/tools" writable, but /var/cache/tools is no directory`}},

		// ASI-ABI-001
		"library missing": {"", func(b *built) {
			b.add(ocitest.Whiteout("usr/lib/libc.so.6"))
			b.reseal()
		}, []string{
			`abi-library opt/tools/bin/tools: /opt/tools/bin/tools of tools@1.0.0: needs the library "libc.so.6"`,
			`abi-library opt/tools/lib/libown.so: /opt/tools/lib/libown.so of tools@1.0.0: needs the library "libc.so.6"`,
		}},
		"older library": {"", func(b *built) {
			b.add(file("usr/lib/libc.so.6", 0o755, elf(elftest.File{Library: true, Soname: "libc.so.6", Defines: []string{"GLIBC_2.2.5"}})))
			b.reseal()
		}, []string{`abi-symbol-version opt/tools/lib/libown.so: /opt/tools/lib/libown.so of tools@1.0.0: needs GLIBC_2.34 of "libc.so.6"`}},
		"interpreter missing": {"", func(b *built) {
			b.add(ocitest.Whiteout("usr/bin/sh"))
			b.reseal()
		}, []string{`abi-interpreter opt/runtime/bin/helper: /opt/runtime/bin/helper of runtime@1.0.0: needs the interpreter "/bin/sh"`}},
		"base path that the harness brings": {"", func(b *built) {
			b.components["etc/ca.crt"] = image.ComponentHarness
			b.reseal()
		}, []string{"abi-base-path etc/ca.crt: /etc/ca.crt of tools@1.0.0: tools@1.0.0 requires this path of the runtime base"}},

		// ASI-RUN-001
		"user by name":       {"", func(b *built) { b.config.Config.User = "agent" }, []string{`verify-user : the image is configured to run as "agent", which is not of the form UID:GID`}},
		"user without group": {"", func(b *built) { b.config.Config.User = "1000" }, []string{`verify-user : the image is configured to run as "1000", which is not of the form UID:GID`}},
		"no user":            {"", func(b *built) { b.config.Config.User = "" }, []string{`verify-user : the image is configured to run as ""`}},
		"root, in config and contract": {"", func(b *built) {
			b.config.Config.User = "0:0"
			b.contract(func(s *specs.Spec) { s.Process.User = specs.User{} })
			b.reseal()
		}, []string{`verify-user : the image is configured to run as "0:0", which is root`}},
		"another user than the contract's": {"", func(b *built) { b.config.Config.User = "1001:1000" }, []string{
			"verify-contract .agentsuite/runtime.json: the contract runs as 1000:1000 with 0 additional groups, the config as 1001:1000",
		}},
		"no process": {"", func(b *built) {
			b.config.Config.Entrypoint, b.config.Config.Cmd = nil, nil
			b.contract(func(s *specs.Spec) { s.Process.Args = nil })
			b.reseal()
		}, []string{"verify-process : the config states no process to run"}},
		"process that is missing": {"", func(b *built) {
			b.config.Config.Entrypoint = []string{"missing"}
			b.contract(func(s *specs.Spec) { s.Process.Args[0] = "missing" })
			b.reseal()
		}, []string{`verify-process : the config runs "missing", which is not in the filesystem`}},
		"process that cannot be executed": {"", func(b *built) {
			b.config.Config.Entrypoint = []string{"../etc/group"}
			b.contract(func(s *specs.Spec) { s.Process.Args[0] = "../etc/group" })
			b.reseal()
		}, []string{`verify-process : the config runs "../etc/group", which leads to /etc/group, a file with mode 0644, which cannot be executed`}},
		"relative working directory": {"", func(b *built) {
			b.config.Config.WorkingDir = "tmp"
			b.contract(func(s *specs.Spec) { s.Process.Cwd = "tmp" })
			b.reseal()
		}, []string{`verify-process : the working directory is "tmp", which is no absolute path`}},
		"another process than the variant's": {"tools@1.0.0", func(b *built) {
			b.config.Config.Cmd = []string{"more"}
			b.contract(func(s *specs.Spec) { s.Process.Args = append(s.Process.Args, "more") })
			b.reseal()
		}, []string{`verify-process : the config runs ["/opt/tools/bin/tools" "serve" "more"], the variant's entrypoint with its arguments is ["/opt/tools/bin/tools" "serve"]`}},
		"other volumes": {"", func(b *built) { b.config.Config.Volumes = map[string]struct{}{"/data": {}} }, []string{
			`verify-volumes : the volumes of the config are ["/data"], the writable paths of the bundles ["/var/cache/tools"]`,
		}},
		"contract missing": {"", func(b *built) {
			b.remove(image.RuntimePath)
			b.reseal()
		}, []string{"verify-contract .agentsuite/runtime.json: /.agentsuite/runtime.json is missing"}},
		"contract that is no JSON": {"", func(b *built) {
			b.entry(image.RuntimePath).Content = "{"
			b.reseal()
		}, []string{"verify-contract .agentsuite/runtime.json: "}},
		"contract with an unknown member": {"", func(b *built) {
			b.edit(image.RuntimePath, func(doc object) { doc["privileged"] = true })
			b.reseal()
		}, []string{"verify-contract .agentsuite/runtime.json: it is no configuration by the OCI runtime specification: json: unknown field"}},
		"contract of two documents": {"", func(b *built) {
			b.entry(image.RuntimePath).Content += "{}"
			b.reseal()
		}, []string{"verify-contract .agentsuite/runtime.json: "}},
	}
	contracts := map[string]struct {
		change func(*specs.Spec)
		want   string
	}{
		"process":         {func(s *specs.Spec) { s.Process = nil }, "the contract has no process"},
		"groups":          {func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{0} }, "the contract runs as 1000:1000 with 1 additional groups"},
		"arguments":       {func(s *specs.Spec) { s.Process.Args = []string{"sh"} }, `the contract runs ["sh"], the config ["harness" "run"]`},
		"environment":     {func(s *specs.Spec) { s.Process.Env = append(s.Process.Env, "LD_PRELOAD=/tmp/x") }, "the contract's environment is not the config's"},
		"directory":       {func(s *specs.Spec) { s.Process.Cwd = "/" }, `the contract starts in "/", the config in "/tmp"`},
		"privileges":      {func(s *specs.Spec) { s.Process.NoNewPrivileges = false }, "the contract does not ask for no_new_privs"},
		"no capabilities": {func(s *specs.Spec) { s.Process.Capabilities = nil }, "the contract leaves the capabilities to the runtime"},
		"capabilities":    {func(s *specs.Spec) { s.Process.Capabilities.Bounding = []string{"CAP_SYS_ADMIN"} }, "the contract grants capabilities"},
		"ambient":         {func(s *specs.Spec) { s.Process.Capabilities.Ambient = []string{"CAP_SYS_ADMIN"} }, "the contract grants capabilities"},
		"writable root":   {func(s *specs.Spec) { s.Root.Readonly = false }, "the contract's root is not the read-only directory"},
		"another root":    {func(s *specs.Spec) { s.Root.Path = "/" }, "the contract's root is not the read-only directory"},
		"hooks":           {func(s *specs.Spec) { s.Hooks = &specs.Hooks{} }, "the contract has hooks"},
		"no Linux":        {func(s *specs.Spec) { s.Linux = nil }, "the contract has no Linux part"},
		"no namespace":    {func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[1:] }, "the contract has no new pid namespace"},
		"another namespace": {func(s *specs.Spec) {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: "time", Path: "/proc/1/ns/time"})
		}, `the contract enters the existing time namespace "/proc/1/ns/time"`},
		"devices":         {func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/sda"}} }, "the contract brings devices"},
		"allowed devices": {func(s *specs.Spec) { s.Linux.Resources.Devices[0].Allow = true }, "the contract allows devices"},
		"sysctl":          {func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"a": "b"} }, "the contract sets kernel parameters"},
		"masked":          {func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"/proc/kcore", "/proc/keys"} }, "the contract does not mask /sys/firmware"},
		"read-only":       {func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{"/proc/sysrq-trigger"} }, "the contract does not make /proc/sys read-only"},
		"bind mount": {func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/host", Source: "/", Options: []string{"rbind"}})
		}, `the contract binds "/" of the host to "/host"`},
		"other mount": {func(s *specs.Spec) { s.Mounts = append(s.Mounts, specs.Mount{Destination: "/data", Type: "tmpfs"}) },
			`the contract mounts "tmpfs" at "/data", which is neither a writable path of a bundle nor what every container has`},
		"filled mount": {func(s *specs.Spec) {
			last := &s.Mounts[len(s.Mounts)-1]
			last.Options = append(last.Options, "tmpcopyup")
		}, `the mount at "/var/cache/tools" is not an empty tmpfs with nosuid and nodev`},
		"no mount": {func(s *specs.Spec) { s.Mounts = s.Mounts[:len(s.Mounts)-1] }, `the contract mounts nothing at "/var/cache/tools", which a bundle needs writable`},
		"writable sysfs": {func(s *specs.Spec) {
			i := slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Type == "sysfs" })
			s.Mounts[i].Options = nil
		}, "the contract mounts /sys writable"},
		"no annotation": {func(s *specs.Spec) { delete(s.Annotations, image.AnnotationNetwork) }, "the contract lacks the annotation org.agentsuite.network"},
		"annotation":    {func(s *specs.Spec) { s.Annotations["other"] = "x" }, `the contract has the annotation "other", which follows from nothing`},
		"more network":  {func(s *specs.Spec) { s.Annotations[image.AnnotationNetwork] = `["https://*:443"]` }, "the annotation org.agentsuite.network is not what the suite declares"},
		"another model": {func(s *specs.Spec) { s.Annotations[image.AnnotationModel] = `{}` }, "the annotation org.agentsuite.model is not what the suite declares"},
	}
	for name, c := range contracts {
		tests["contract: "+name] = broken{"", func(b *built) {
			b.contract(c.change)
			b.reseal()
		}, []string{"verify-contract .agentsuite/runtime.json: " + c.want}}
	}
	w := newWorld(t, false, nil)
	seen := map[string]bool{}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			target := tt.target
			if target == "" {
				target = "writer"
			}
			b := w.build(target)
			b.t = t
			tt.spoil(b)
			requireProblems(t, tt.want, b.verify(verify.Options{}).Problems)
			for _, want := range tt.want {
				rule, _, _ := strings.Cut(want, " ")
				seen[rule] = true
			}
		})
	}
	// What is only wrong against the suite or the pinned images has tests of its own.
	elsewhere := []string{"verify-blobs", "verify-suite", "verify-inputs", "verify-base"}
	for _, rule := range problem.Rules() {
		if strings.HasPrefix(rule.ID, "verify-") && !slices.Contains(elsewhere, rule.ID) {
			require.True(t, seen[rule.ID], "no test breaks the rule %s", rule.ID)
		}
	}
}

// requireProblems compares problems to lines of which the end may be left out.
func requireProblems(t *testing.T, want []string, problems []problem.Problem) {
	t.Helper()
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s %s: %s", p.Rule.ID, p.Path, p.Message))
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	require.Len(t, got, len(want), "%s", strings.Join(got, "\n"))
	for i := range want {
		require.Truef(t, strings.HasPrefix(got[i], want[i]), "want %s\n got %s", want[i], got[i])
	}
}

// TestVerifyAgainstSuite holds that an image of one suite is not taken for one of another.
func TestVerifyAgainstSuite(t *testing.T) {
	w := newWorld(t, false, nil)
	other := newWorld(t, false, func(documents map[string]object) {
		documents["agents/writer.json"]["description"] = "Writes differently."
		documents["tool-providers/tools/provider.json"]["revision"] = "other"
		documents["tool-providers/tools/provider.json"]["variants"].([]any)[0].(object)["dependencies"] = []any{}
		documents["tool-providers/runtime/provider.json"]["retained"] = true
		documents["compositions/writer.json"]["buildProfile"] = "second"
		documents["agentsuite.json"]["buildProfiles"] = append(documents["agentsuite.json"]["buildProfiles"].([]any), object{"id": "second", "path": "second.json"})
		second := object{}
		for name, value := range documents["profile.json"] {
			second[name] = value
		}
		second["id"] = "second"
		documents["second.json"] = second
	})
	opts := verify.Options{Suite: other.graph, SuiteDigest: other.index.SuiteDigest}
	requireProblems(t, []string{
		"verify-suite : the image was built from the suite " + string(w.index.SuiteDigest) + ", this one is " + string(other.index.SuiteDigest),
		`verify-suite : the image was built with the build profile "default", the suite selects second`,
		"verify-suite .agentsuite/agent.json: the embedded agent is sha256:",
		"verify-suite .agentsuite/composition.json: the embedded composition is sha256:",
		"verify-suite .agentsuite/tool-providers/runtime/1.0.0: the image has runtime@1.0.0, which the suite does not put into it",
		"verify-suite .agentsuite/tool-providers/tools/1.0.0/tool-provider.json: the embedded manifest of tools@1.0.0 is sha256:",
	}, w.build("writer").verify(opts).Problems)

	opts = verify.Options{Suite: w.graph, SuiteDigest: w.index.SuiteDigest}
	requireProblems(t, []string{
		"verify-suite : the image was built from the suite " + string(other.index.SuiteDigest),
		`verify-suite : the image was built with the build profile "second", the suite selects default`,
		"verify-suite : the suite puts runtime@1.0.0 into the image, which has no manifest of it",
		"verify-suite .agentsuite/agent.json: the embedded agent is sha256:",
		"verify-suite .agentsuite/composition.json: the embedded composition is sha256:",
		"verify-suite .agentsuite/tool-providers/tools/1.0.0/tool-provider.json: the embedded manifest of tools@1.0.0 is sha256:",
	}, other.build("writer").verify(opts).Problems)

	t.Run("tool provider", func(t *testing.T) {
		b := w.build("tools@1.0.0")
		delete(b.config.Config.Labels, image.LabelSuiteDigest)
		requireProblems(t, []string{
			"verify-suite : the image was built from the suite of no stated digest, this one is sha256:",
			"verify-suite .agentsuite/tool-provider-composition.json: the embedded tool provider composition is sha256:",
			"verify-suite .agentsuite/tool-providers/runtime/1.0.0: the image has runtime@1.0.0",
			"verify-suite .agentsuite/tool-providers/tools/1.0.0/tool-provider.json: the embedded manifest of tools@1.0.0 is sha256:",
		}, b.verify(verify.Options{Suite: other.graph, SuiteDigest: other.index.SuiteDigest}).Problems)
	})
	t.Run("instructions", func(t *testing.T) {
		b := w.build("writer")
		b.t = t
		b.entry(image.InstructionsPath).Content = "Other."
		b.edit(image.AgentPath, func(doc object) { doc["instructions"].(object)["digest"] = digest.FromString("Other.") })
		b.reseal()
		requireProblems(t, []string{
			"verify-suite .agentsuite/agent.json: the embedded agent is sha256:",
			"verify-suite .agentsuite/instructions.md: the embedded instructions is sha256:",
		}, b.verify(opts).Problems)
	})
	t.Run("a target that the suite lacks", func(t *testing.T) {
		b := w.build("writer")
		b.t = t
		graph := *w.graph
		graph.Agents = map[string]suite.Loaded[suite.Agent]{}
		requireProblems(t, []string{`verify-suite : suite example has no target "writer"`}, b.verify(verify.Options{Suite: &graph}).Problems)
	})
}

// TestVerifyAgainstImages holds that an image is not taken for one on another base or harness.
func TestVerifyAgainstImages(t *testing.T) {
	w := newWorld(t, false, nil)
	add := func(entries []ocitest.Entry, config dockerspec.DockerOCIImage) *ociimage.Image {
		layout := ocitest.NewLayout()
		layout.Index.Manifests = []ocispec.Descriptor{layout.Image(t, amd64, config, ocitest.NewLayer(t, entries...))}
		source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, source.Close()) })
		i, err := source.Image(t.Context(), amd64)
		require.NoError(t, err)
		return i
	}
	changed := slices.DeleteFunc(baseEntries(), func(e ocitest.Entry) bool { return e.Name == "etc/group" })
	changed = append(changed, file("etc/passwd", 0o600, "changed"), file("etc/more", 0o644, "more"))
	opts := w.all()
	opts.Base = add(changed, dockerspec.DockerOCIImage{})
	requireProblems(t, []string{
		"verify-inputs : the given runtime base is sha256:",
		"verify-base : layer 1 of the image is sha256:",
		"verify-base etc/more: the runtime base has /etc/more, the image does not",
		"verify-base etc/passwd: the runtime base and the image have /etc/passwd differently: mode 0600 and 0644, size ",
		"verify-component etc/group: the inventory says that the runtime-base brings /etc/group, which it does not have",
		"verify-component etc/passwd: the inventory says that the runtime-base brings /etc/passwd, which it has otherwise: mode 0644 and 0600",
	}, w.build("writer").verify(opts).Problems)

	opts = w.all()
	config := harnessConfig
	config.Config.Cmd = []string{"other"}
	opts.Harness = add([]ocitest.Entry{directory("usr", 0o700), file("usr/local/bin/other", 0o755, "")}, config)
	requireProblems(t, []string{
		"verify-inputs : the given harness is sha256:",
		`verify-process : the config runs ["harness" "run"], that of the harness ["harness" "other"]`,
		"verify-base usr/local/bin/other: the harness has /usr/local/bin/other, the image does not",
		"verify-component usr/local/bin/harness: the inventory says that the harness brings /usr/local/bin/harness, which it does not have",
	}, w.build("writer").verify(opts).Problems)

	t.Run("fewer layers than the base", func(t *testing.T) {
		b := w.build("tools@1.0.0")
		b.t = t
		var all []ocitest.Entry
		for _, entries := range append([][]ocitest.Entry{baseEntries()}, b.layers...) {
			all = append(all, entries...)
		}
		b.lower, b.layers = nil, [][]ocitest.Entry{all}
		b.config.Config.Labels[image.LabelSuiteDigest] = string(w.index.SuiteDigest)
		opts := verify.Options{Base: w.pinned(w.base)}
		requireProblems(t, []string{"verify-base : layer 1 of the image is sha256:"}, b.verify(opts).Problems)
	})
	t.Run("a harness for a tool provider", func(t *testing.T) {
		b := w.build("tools@1.0.0")
		b.t = t
		opts := w.all()
		requireProblems(t, []string{
			"verify-inputs : a harness is given, but tools@1.0.0 is a tool provider, whose image has none",
			"verify-base usr/local/bin/harness: the harness has /usr/local/bin/harness, the image does not",
		}, b.verify(opts).Problems)
	})
	t.Run("a stacked harness", func(t *testing.T) {
		stacked := newWorld(t, true, nil)
		b := stacked.build("writer")
		b.lower = b.lower[:1]
		b.add(harnessEntries()...)
		requireProblems(t, []string{"verify-base : layer 2 of the image is sha256:"}, b.verify(stacked.all()).Problems)
	})
}

// TestVerifyUnreadable holds that an image whose blobs are wrong is invalid, not trouble.
func TestVerifyUnreadable(t *testing.T) {
	w := newWorld(t, false, nil)
	built := w.build("writer")
	layout := ocitest.NewLayout()
	d := layout.Image(t, amd64, dockerspec.DockerOCIImage{}, ocitest.NewLayer(t, baseEntries()...))
	layout.Index.Manifests = []ocispec.Descriptor{d}
	var manifest ocispec.Manifest
	require.NoError(t, json.Unmarshal(layout.Blobs[d.Digest], &manifest))
	delete(layout.Blobs, manifest.Layers[0].Digest)
	source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()
	i, err := source.Image(t.Context(), amd64)
	require.NoError(t, err)
	report, err := verify.Image(t.Context(), i, verify.Options{})
	require.NoError(t, err)
	requireProblems(t, []string{"verify-blobs : the blob " + string(manifest.Layers[0].Digest) + ": it is not in the layout"}, report.Problems)

	// A given image that cannot be read is trouble: it says nothing about the image.
	base := w.pinned(w.base)
	require.NoError(t, os.Remove(filepath.Join(w.layoutDir, "blobs", "sha256", base.Manifest.Layers[0].Digest.Encoded())))
	_, err = verify.Image(t.Context(), built.open(), verify.Options{Base: base})
	require.ErrorContains(t, err, "reading the given runtime-base: image registry.example/pinned@")
}

// TestReports holds what programs read about an image for several platforms.
func TestReports(t *testing.T) {
	w := newWorld(t, false, nil)
	layout := ocitest.NewLayout()
	b := w.build("writer")
	var made []ocitest.Layer
	made = append(made, b.lower...)
	for _, entries := range b.layers {
		made = append(made, ocitest.NewLayer(t, entries...))
	}
	first := layout.Image(t, amd64, b.config, made...)
	second := layout.Image(t, suite.Platforms()[1], dockerspec.DockerOCIImage{}, ocitest.NewLayer(t, file("bin/su", 0o4755, "")))
	layout.Index.Manifests = []ocispec.Descriptor{second, first}
	source, err := ociimage.Open(t.Context(), layout.WriteDir(t), ociimage.Options{})
	require.NoError(t, err)
	defer source.Close()

	images, err := source.Images(t.Context())
	require.NoError(t, err)
	var reports verify.Reports
	for _, i := range images {
		report, err := verify.Image(t.Context(), i, verify.Options{})
		require.NoError(t, err)
		reports = append(reports, report)
	}
	require.True(t, reports[0].Valid())
	require.NoError(t, reports[0].Err())
	require.Error(t, reports[1].Err())
	require.False(t, reports.Valid())
	text, err := json.Marshal(reports)
	require.NoError(t, err)
	var got struct {
		Valid  bool
		Report struct {
			Image  string
			Images []struct {
				Digest   digest.Digest
				Platform string
				Target   string
				Bundles  []string
				Valid    bool
			}
		}
		Errors   []struct{ Category, Requirement, Rule, Platform, Message string }
		Warnings []struct{ Rule, Platform string }
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.False(t, got.Valid)
	require.Equal(t, first.Digest, got.Report.Images[0].Digest)
	require.Equal(t, "linux/amd64", got.Report.Images[0].Platform)
	require.Equal(t, "writer", got.Report.Images[0].Target)
	require.Equal(t, []string{"tools@1.0.0", "runtime@1.0.0"}, got.Report.Images[0].Bundles)
	require.True(t, got.Report.Images[0].Valid)
	require.False(t, got.Report.Images[1].Valid)
	require.Equal(t, []string{}, got.Report.Images[1].Bundles)
	for _, e := range got.Errors {
		require.Equal(t, "linux/arm64", e.Platform)
	}
	require.Equal(t, "build", got.Errors[0].Category)
	require.Equal(t, "ASI-BIND-001", got.Errors[0].Requirement)
	require.Equal(t, "SetIDFile", got.Warnings[0].Rule)
}

// TestVerifyListsBoundedly holds that an image with endless faults gives a report that one can read.
func TestVerifyListsBoundedly(t *testing.T) {
	w := newWorld(t, false, nil)
	b := w.build("writer")
	var extra []ocitest.Entry
	for i := range 300 {
		extra = append(extra, file(fmt.Sprintf("extra/%d", i), 0o644, ""))
	}
	b.add(extra...)
	problems := b.verify(verify.Options{}).Problems
	require.Len(t, problems, 101)
	require.Equal(t, "201 more problems of this kind are not listed", problems[0].Message)
}

// TestVerifyIsDeterministic holds that equal images give equal reports.
func TestVerifyIsDeterministic(t *testing.T) {
	w := newWorld(t, false, nil)
	b := w.build("writer")
	b.add(ocitest.Whiteout("usr"), file("extra", 0o644, ""))
	b.config.Config.User = "root"
	first, err := json.Marshal(verify.Reports{b.verify(w.all())})
	require.NoError(t, err)
	for range 3 {
		again, err := json.Marshal(verify.Reports{b.verify(w.all())})
		require.NoError(t, err)
		var a, b map[string]any
		require.NoError(t, json.Unmarshal(first, &a))
		require.NoError(t, json.Unmarshal(again, &b))
		a["report"].(map[string]any)["image"], b["report"].(map[string]any)["image"] = "", ""
		require.Equal(t, a, b)
	}
}

// FuzzVerify puts arbitrary bytes in the place of a record.
func FuzzVerify(f *testing.F) {
	f.Add(byte(0), []byte(`{}`))
	f.Add(byte(1), []byte(`{"process":{},"linux":{}}`))
	f.Add(byte(2), []byte(`{"entries":[],"mediaType":"x"}`))
	paths := []string{
		image.BindingPath, image.RuntimePath, image.InventoryPath, image.CompositionPath, image.AgentPath, image.ToolProviderCompositionPath,
		toolsDir + "/tool-provider.json", runtimeDir + "/tool-provider.json",
	}
	w := newWorld(f, false, nil)
	f.Fuzz(func(t *testing.T, which byte, text []byte) {
		w.t = t
		b := w.build("writer")
		b.add(file(paths[int(which)%len(paths)], 0o444, string(text)))
		report := b.verify(verify.Options{})
		require.False(t, report.Valid(), "the inventory does not list these bytes")
	})
}
