// Renders the Helm chart, for its tests.
import { hasTool, runTool } from './tool.ts'
import { manifestsIn, type Manifest } from './manifest.ts'

export const hasHelm = hasTool('helm', ['version'], 'rendering deploy/helm')

/** The Helm option that runs Pipespan as a sidecar of a Collector. */
export const sidecar = '--set-json=sidecar.containers=[{"name":"collector","image":"collector:1.0.0"}]'

/** Returns the manifests that the chart renders with these Helm options. */
export function rendered(...args: readonly string[]): Manifest[] {
  return manifestsIn(runTool('helm', ['template', 'ci', 'deploy/helm/pipespan', '--namespace=observability', ...args]))
}
