// Tests the release files for machines without npm. Unpacked into an empty folder, they run without any other files. The test is part of the long
// form, because Node's binary is downloaded from the registry. `.ci/release` installs the Debian package in a clean Debian.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { isFull } from '../full.ts'
import { emptyFolder, packCopy, repository, run } from './install.ts'

const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string }
const canBuild =
  isFull &&
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  spawnSync('npm', ['ping'], { stdio: 'ignore' }).status === 0
if (isFull && !canBuild)
  process.stderr.write('No registry responds, or this is not Linux on x64, so the release files are not tested.\n')

it.skipIf(!canBuild)(
  'ships a release tarball that runs the daemon on a machine without Node and npm, and that matches its checksum',
  async () => {
    using folder = emptyFolder()
    using copy = emptyFolder()
    const packed = packCopy(copy.path)
    run(repository, 'node', 'scripts/artifacts.js', '--arch', 'x64', '--package', packed, '--out', folder.path)
    const name = `pipespan-${version}-linux-x64`
    const sums = readFileSync(path.join(folder.path, 'SHA256SUMS'), 'utf8').trimEnd().split('\n')
    for (const line of sums) {
      const [sum, file = ''] = line.split('  ')
      expect(
        createHash('sha256')
          .update(readFileSync(path.join(folder.path, file)))
          .digest('hex'),
      ).toBe(sum)
    }
    expect(sums.map(line => line.split('  ')[1])).toEqual([`${name}.tar.gz`, `pipespan_${version}_amd64.deb`])
    run(folder.path, 'tar', 'xzf', `${name}.tar.gz`)
    const program = path.join(folder.path, name, 'bin/pipespan')
    const [port = 0, admin = 0] = await freePorts(2)
    // The environment contains none of this machine's variables, not even PATH, so the shell uses its default PATH.
    const env = { PIPESPAN_LISTEN: `127.0.0.1:${port}`, PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${admin}` }
    const daemon = spawn(program, ['serve'], { cwd: folder.path, env, stdio: 'ignore' })
    const isReady = async (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${admin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await expect.poll(isReady, { interval: 100 }).toBe(true)
    daemon.kill('SIGTERM')
    expect(await once(daemon, 'exit')).toEqual([0, null])
  },
  120_000,
)
