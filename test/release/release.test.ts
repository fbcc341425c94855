// The release as a dry run: what it would publish, and that the versions agree wherever one is written.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { isFull } from '../full.ts'
import { needDist, repository } from './install.ts'

const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string }

function release(...args: string[]) {
  const script = [path.join(repository, 'scripts/release.js'), ...args]
  return spawnSync(process.execPath, script, { cwd: repository, encoding: 'utf8' })
}

// npm asks the registry even then which versions there are.
const isOnline = isFull && spawnSync('npm', ['ping'], { stdio: 'ignore' }).status === 0
if (isFull && !isOnline) process.stderr.write('No registry answers: the dry run of a release is skipped.\n')

it.skipIf(!isOnline)(
  'says what it would publish, each with its provenance, and that every file is of the same version',
  () => {
    needDist()
    const to = ['--image', 'registry.example.com/pipespan', '--charts', 'oci://registry.example.com/charts']
    const { status, stdout, stderr } = release('--dry-run', ...to)
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expect(stderr).not.toContain('does not have version')
    expect(stdout).toContain('npm publish --provenance --access public --ignore-scripts --dry-run')
    expect(stdout).toContain(`+ pipespan@${version}`)
    expect(stdout).toMatch(
      /would run: docker buildx build .*--provenance=mode=max --sbom=true .*pipespan:\d+\.\d+\.\d+ --push/,
    )
    expect(stdout).toContain(`/pipespan-${version}.tgz oci://registry.example.com/charts`)
  },
  120_000,
)

it('does nothing without --image and --charts', () => {
  const { status, stdout, stderr } = release()
  expect([status, stdout, stderr]).toEqual([2, '', 'Give --image NAME and --charts oci://….\n'])
})
