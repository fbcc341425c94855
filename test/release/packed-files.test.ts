// Tests the files in the npm package, according to npm's own list. The package must include every file to which its documents link.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { repository } from './install.ts'

function packedFiles(): string[] {
  // npm runs without scripts, because `prepack` briefly shortens the manifest, which other tests may be reading.
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: repository,
    encoding: 'utf8',
  })
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[]
  return packed?.files.map(file => file.path) ?? []
}

describe('the packed npm package', () => {
  const files = packedFiles()

  it('contains the systemd unit and the manifests that its documents mention', () => {
    for (const file of [
      'deploy/systemd/pipespan.service',
      'deploy/compose/compose.yaml',
      'deploy/kubernetes/overlays/single/kustomization.yaml',
      'deploy/prometheus/alerts.yml',
    ])
      expect(files).toContain(file)
  })

  it('contains no part of the Helm chart, because npm omits its symbolic links; a release has the chart as a separate file', () => {
    expect(files.filter(file => file.startsWith('deploy/helm/'))).toEqual(['deploy/helm/pipespan/README.md'])
  })

  it('links from the packed documents only to files in the package', () => {
    const known = new Set(files.flatMap(file => [file, ...foldersOf(file)]))
    const pages = files.filter(file => file.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(20)
    const dangling = pages.flatMap(page =>
      [...readFileSync(path.join(repository, page), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter(target => !/^\w+:/.test(target))
        .map(target => path.normalize(path.join(path.dirname(page), target)).replace(/\/$/, ''))
        .filter(target => !known.has(target))
        .map(target => `${page}: ${target}`),
    )
    expect(dangling).toEqual([])
  })
})

function foldersOf(file: string): string[] {
  const parent = path.dirname(file)
  return parent === '.' ? [] : [parent, ...foldersOf(parent)]
}
