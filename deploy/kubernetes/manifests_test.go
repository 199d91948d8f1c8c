// Package kubernetes has no code. Its test reads the manifests as Kubernetes does: an unknown field is an error. It is a
// module of its own, so that no user of elect downloads the types of Kubernetes.
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

// kinds are what the manifests may contain.
var kinds = map[string]func() any{
	"Service":             func() any { return new(core.Service) },
	"ConfigMap":           func() any { return new(core.ConfigMap) },
	"PodDisruptionBudget": func() any { return new(policy.PodDisruptionBudget) },
	"StatefulSet":         func() any { return new(apps.StatefulSet) },
}

func TestManifests(t *testing.T) {
	text, err := os.ReadFile("elect.yaml")
	require.NoError(t, err)
	objects := make(map[string]any)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
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

	var settings struct{ Members []string }
	require.NoError(t, yaml.Unmarshal([]byte(objects["ConfigMap"].(*core.ConfigMap).Data["elect.yaml"]), &settings))
	require.Len(t, settings.Members, int(*set.Spec.Replicas), "the list names each pod")
}
