// Follows the README's steps for kustomize. After these steps, no overlay or component contains a placeholder image or address.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { manifestsIn, podOf } from './manifest.ts'
import { hasTool, repository, runTool } from './tool.ts'

const hasKubectl = hasTool('kubectl', ['kustomize', '--help'], 'the steps of deploy/kubernetes/README.md')

/** Returns a copy of deploy/ after an operator has followed the first two steps of its README. */
function afterTheSteps(): string {
  const folder = path.join(temporaryFolder(), 'deploy')
  cpSync(path.join(repository, 'deploy'), folder, { recursive: true })
  const edit = (file: string, change: (text: string) => string): void => {
    const at = path.join(folder, 'kubernetes', file)
    const before = readFileSync(at, 'utf8')
    const after = change(before)
    expect(after, `the step changes ${file}`).not.toBe(before)
    writeFileSync(at, after)
  }
  edit('image/kustomization.yaml', text => text.replace(/newName: .*/, 'newName: registry.corp.test/ci/pipespan'))
  edit('image/kustomization.yaml', text => text.replace(/newTag: .*/, 'newTag: 7.8.9'))
  edit('base/addresses.env', text => text.replaceAll(/^(\w+=(?:https:\/\/)?[\w-]+)\.example\.com/gm, '$1.corp.test'))
  edit('overlays/runner/kustomization.yaml', text =>
    text.replace(/newName: .*/, 'newName: registry.corp.test/ci/runner'),
  )
  return folder
}

const cases = [
  ['single'],
  ['scaled'],
  ['sidecar'],
  ['runner'],
  ['token-rotation'],
  ['single', 'token-rotation', 'ingress'],
  ['scaled', 'token-rotation', 'http-route', 'service-monitor'],
  ['sidecar', 'token-rotation', 'admin'],
  ['runner', 'token-rotation', 'ingress'],
] as const

describe.skipIf(!hasKubectl)('an overlay edited as deploy/kubernetes/README.md describes', () => {
  it.each(cases.map(one => [one.join(' with '), one] as const))(
    'leaves no placeholder image or address in %s',
    (_, chosen) => {
      const [overlay, ...components] = chosen
      const folder = afterTheSteps()
      const mine = path.join(folder, 'mine')
      cpSync(path.join(folder, 'kubernetes/components/admin'), mine, { recursive: true })
      writeFileSync(
        path.join(mine, 'kustomization.yaml'),
        `resources: [../kubernetes/overlays/${overlay}]\n` +
          `components: [${components.map(name => `../kubernetes/components/${name}`).join(', ')}]\n`,
      )
      const text = runTool('kubectl', ['kustomize', mine])
      expect(text).not.toMatch(/example\.(com|org|net)/)
      const pods = manifestsIn(text).flatMap(manifest => podOf(manifest) ?? [])
      const images = pods.flatMap(pod => [...(pod.initContainers ?? []), ...pod.containers].map(({ image }) => image))
      // Anyone could publish an image whose name is not in one of the operator's registries.
      const others = images.filter(image => image !== 'registry.corp.test/ci/pipespan:7.8.9')
      expect(images).toContain('registry.corp.test/ci/pipespan:7.8.9')
      expect(
        others.filter(
          image => !/^(registry\.corp\.test\/ci\/runner|otel\/opentelemetry-collector-contrib):/.test(image),
        ),
      ).toEqual([])
      if (components.some(name => name.startsWith('token-rotation')))
        expect(images.filter(image => image.includes('/pipespan:'))).toHaveLength(2)
    },
  )

  it('lists in the README every place that has to be edited', () => {
    const readme = readFileSync(path.join(repository, 'deploy/kubernetes/README.md'), 'utf8')
    for (const file of ['image/kustomization.yaml', 'base/addresses.env', 'collector.yaml'])
      expect(readme).toContain(file)
  })
})

describe.skipIf(!hasKubectl)('the overlays as shipped', () => {
  it.each(['single', 'scaled', 'sidecar', 'runner', 'token-rotation'])(
    'refers in overlay %s only to image names under which strangers cannot publish',
    overlay => {
      const text = runTool('kubectl', ['kustomize', `deploy/kubernetes/overlays/${overlay}`])
      for (const [, image = ''] of text.matchAll(/image: (\S+)/g))
        expect(image).toMatch(/^(registry\.example\.com\/|otel\/opentelemetry-collector-contrib:)/)
    },
  )
})
