// Tests which problems abort a release before it publishes anything, and how a release is prepared. `.ci/release` performs a dry run of a release,
// and starts everything that it builds.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder, repository, run } from './install.ts'

const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string }

function release(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, ['scripts/release.js', ...args], { cwd, encoding: 'utf8' })
}

/** Clones the repository into this folder, because packing briefly changes the manifest, which other tests may be reading. */
function cloneIn(folder: string): string {
  const clone = path.join(folder, 'clone')
  run(folder, 'git', 'clone', '-q', '--shared', repository, clone)
  cpSync(path.join(repository, 'dist'), path.join(clone, 'dist'), { recursive: true })
  mkdirSync(path.join(clone, 'node_modules'))
  return clone
}

const to = ['--image', 'registry.example.com/pipespan', '--charts', 'oci://registry.example.com/charts']

/** Applies and commits `change` to a file in a clone, and returns the message with which the release aborts. */
function refusals(file: string, change: (text: string) => string): string {
  using folder = emptyFolder()
  const clone = cloneIn(folder.path)
  const at = path.join(clone, file)
  const before = readFileSync(at, 'utf8')
  const after = change(before)
  expect(after).not.toBe(before)
  writeFileSync(at, after)
  const { status, stdout, stderr } = release(clone, ...to)
  expect([status, stdout]).toEqual([1, ''])
  return stderr
}

describe('a product release', () => {
  it('aborts a release while the changelog has entries under Unreleased', () => {
    const stderr = refusals('CHANGELOG.md', text =>
      text.replace('## Unreleased\n', '## Unreleased\n\n### Fixed\n\n- One.\n'),
    )
    expect(stderr).toContain('refused: CHANGELOG.md has changes under Unreleased')
  })

  it('aborts a release if the changelog has no dated heading for the version', () => {
    const stderr = refusals('CHANGELOG.md', () => '# Changelog\n\n## Unreleased\n\n## 99.0.0 - 2026-01-01\n')
    expect(stderr).toContain(`CHANGELOG.md has no heading \`## ${version} - DATE\``)
  })

  it.each([
    ['deploy/compose/compose.yaml', 'pipespan:'],
    ['deploy/kubernetes/image/kustomization.yaml', 'newTag: '],
    ['deploy/ci/token-rotation.yml', 'pipespan:'],
    ['deploy/helm/pipespan/Chart.yaml', 'appVersion: '],
    ['docs/releasing.md', 'pipespan-'],
    ['Dockerfile', 'image.version="'],
  ])('aborts a release if the file %s has another version', (file, before) => {
    expect(refusals(file, text => text.replace(before + version, `${before}99.0.0`))).toContain(
      `${file} has version 99.0.0, not ${version}`,
    )
  })

  it('prepares a release by writing the version into all files, and the date into the changelog heading', () => {
    using folder = emptyFolder()
    const clone = cloneIn(folder.path)
    const changelog = path.join(clone, 'CHANGELOG.md')
    writeFileSync(changelog, '# Changelog\n\n## Unreleased\n\n### Fixed\n\n- One.\n')
    expect(release(clone, '--prepare', '99.0.0').status).toBe(0)
    expect(readFileSync(changelog, 'utf8')).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 99\.0\.0 - \d{4}-\d\d-\d\d\n\n### Fixed\n\n- One\.\n$/,
    )
    const { stderr } = release(clone, ...to)
    expect(stderr).not.toMatch(/CHANGELOG|has version/)
    expect(stderr).toContain('This commit has no tag v99.0.0.')
    expect(readFileSync(path.join(clone, 'deploy/kubernetes/image/kustomization.yaml'), 'utf8')).toContain(
      'newTag: 99.0.0',
    )
  })
})

it('aborts a release without the options --image and --charts', () => {
  const { status, stdout, stderr } = release(repository)
  expect([status, stdout, stderr]).toEqual([2, '', 'Give --image NAME and --charts oci://….\n'])
})
