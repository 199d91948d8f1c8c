// Package kubernetes has no code. Its test reads the manifests as Kubernetes does: an unknown field is an error. It is
// a module of its own, so that no user of elect downloads the types of Kubernetes.
package kubernetes_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the objects of the manifests, by kind.
var kinds = map[string]func() any{
	"Service":             func() any { return new(core.Service) },
	"ConfigMap":           func() any { return new(core.ConfigMap) },
	"Secret":              func() any { return new(core.Secret) },
	"PodDisruptionBudget": func() any { return new(policy.PodDisruptionBudget) },
	"StatefulSet":         func() any { return new(apps.StatefulSet) },
}

func TestManifests(t *testing.T) {
	var documents []string
	for _, file := range []string{"elect.yaml", "secret.yaml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		documents = append(documents, strings.Split(string(text), "\n---\n")...)
	}
	objects := make(map[string]any)
	for _, document := range documents {
		var head struct{ Kind string }
		require.NoError(t, yaml.Unmarshal([]byte(document), &head))
		require.Contains(t, kinds, head.Kind)
		object := kinds[head.Kind]()
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), object))
		objects[head.Kind] = object
	}
	require.Len(t, objects, len(kinds))

	set, service := objects["StatefulSet"].(*apps.StatefulSet), objects["Service"].(*core.Service)
	require.Equal(t, service.Name, set.Spec.ServiceName)
	require.Equal(t, core.ClusterIPNone, service.Spec.ClusterIP)
	require.True(t, service.Spec.PublishNotReadyAddresses, "members have to reach each other before they are ready")
	require.Equal(t, service.Spec.Selector, set.Spec.Template.Labels)
	require.Equal(t, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
	require.Equal(t, apps.ParallelPodManagement, set.Spec.PodManagementPolicy, "no member is ready before a majority runs")
	require.Equal(t, set.Spec.Selector.MatchLabels, objects["PodDisruptionBudget"].(*policy.PodDisruptionBudget).Spec.Selector.MatchLabels)

	secret := objects["Secret"].(*core.Secret)
	var mounted *core.SecretVolumeSource
	for _, volume := range set.Spec.Template.Spec.Volumes {
		if volume.Secret != nil {
			mounted = volume.Secret
		}
	}
	require.NotNil(t, mounted, "the secret is a file")
	require.Equal(t, secret.Name, mounted.SecretName)
	require.Contains(t, secret.StringData, "secret", "the name of the file")
	container := set.Spec.Template.Spec.Containers[0]
	require.NotNil(t, container.ReadinessProbe)
	require.Nil(t, container.LivenessProbe, "a member without a leader is well")

	var settings struct {
		Members []string
		Secret  string `json:"secret_file"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(objects["ConfigMap"].(*core.ConfigMap).Data["elect.yaml"]), &settings))
	require.Len(t, settings.Members, int(*set.Spec.Replicas), "the list names each pod")
	require.Equal(t, "/secret/secret", settings.Secret)
	require.Contains(t, container.VolumeMounts, core.VolumeMount{Name: "secret", MountPath: "/secret", ReadOnly: true})
}

// snippet returns an example of docs/operations.md.
func snippet(t *testing.T, name string) []byte {
	t.Helper()
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(document), "<!-- example: "+name+" -->\n")
	require.True(t, found, name)
	block, _, _ = strings.Cut(block, "\n\n")
	return []byte(strings.ReplaceAll("\n"+block, "\n    ", "\n"))
}

// TestSnippets decodes the Kubernetes examples in docs/operations.md. Probes have no credentials, so they may request
// only paths that need none.
func TestSnippets(t *testing.T) {
	var container core.Container
	require.NoError(t, yaml.UnmarshalStrict(snippet(t, "kubernetes probes"), &container))
	ports := make(map[string]int32)
	for _, p := range container.Ports {
		ports[p.Name] = p.ContainerPort
	}
	require.Equal(t, map[string]int32{"elect": 7400, "http": 7480}, ports)
	for path, probe := range map[string]*core.Probe{"/livez": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		require.Equal(t, path, probe.HTTPGet.Path)
		require.Equal(t, core.URISchemeHTTPS, probe.HTTPGet.Scheme)
		require.Contains(t, ports, probe.HTTPGet.Port.StrVal)
	}

	var service core.Service
	require.NoError(t, yaml.UnmarshalStrict(snippet(t, "kubernetes service"), &service))
	require.False(t, service.Spec.PublishNotReadyAddresses, "it selects pods that are ready")
	require.Equal(t, map[string]string{"app": "elect"}, service.Spec.Selector, "the pods of elect.yaml")
}
