// The release as a dry run: what it would publish, and that the versions agree wherever one is written.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { isFull } from '../full.ts'
import { emptyFolder, needDist, repository, run } from './install.ts'

const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string }

function release(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, ['scripts/release.js', ...args], { cwd, encoding: 'utf8' })
}

/** A clone in a folder, because packing changes the manifest for a moment, which other tests read. */
function cloneIn(folder: string): string {
  const clone = path.join(folder, 'clone')
  run(folder, 'git', 'clone', '-q', '--shared', repository, clone)
  cpSync(path.join(repository, 'dist'), path.join(clone, 'dist'), { recursive: true })
  mkdirSync(path.join(clone, 'node_modules'))
  return clone
}

// npm asks the registry even then which versions there are.
const isOnline = isFull && spawnSync('npm', ['ping'], { stdio: 'ignore' }).status === 0
if (isFull && !isOnline) process.stderr.write('No registry answers: the dry run of a release is skipped.\n')

it.skipIf(!isOnline)(
  'a dry run lists what it would publish and sign, and checks that all versions agree',
  () => {
    needDist()
    const to = ['--image', 'registry.example.com/pipespan', '--charts', 'oci://registry.example.com/charts']
    using out = emptyFolder()
    const { status, stdout, stderr } = release(
      cloneIn(out.path),
      '--dry-run',
      ...to,
      '--out',
      path.join(out.path, 'files'),
    )
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expect(stderr).not.toContain('does not have version')
    expect(stdout).toContain('npm publish --provenance --access public')
    expect(stdout).toContain(`+ pipespan@${version}`)
    expect(stdout).toMatch(
      /would run: docker buildx build .*--provenance=mode=max --sbom=true .*pipespan:\d+\.\d+\.\d+ --push/,
    )
    expect(stdout).toContain(`/pipespan-${version}.tgz oci://registry.example.com/charts`)
    for (const signed of ['registry.example.com/pipespan@', 'registry.example.com/charts/pipespan@'])
      expect(stdout).toContain(`would run: cosign sign --yes ${signed}`)
    expect(stdout).toContain(`cosign sign-blob --yes --bundle ${out.path}/files/SHA256SUMS.sigstore.json`)
    if (process.platform === 'linux') expect(readdirSync(path.join(out.path, 'files'))).toContain('SHA256SUMS')
  },
  120_000,
)

it('refuses to run without --image and --charts', () => {
  const { status, stdout, stderr } = release(repository)
  expect([status, stdout, stderr]).toEqual([2, '', 'Give --image NAME and --charts oci://….\n'])
})
