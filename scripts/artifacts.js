// Builds the release files that need no npm on the target machine, in the folder given by --out: for each --arch (x64, arm64), a tarball with
// Node.js, the package and the systemd unit, and a Debian package of the same files; and one SHA256SUMS. `--package` is the packed npm package;
// without it, the script packs the package itself. Builds are reproducible: the same commit produces the same bytes, because names are sorted and all
// times are the commit's time. The Node.js binaries come from the npm registry, in the version that package.json pins.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { writeSums } from './check-sums.js'

const options = {
  out: { type: 'string' },
  package: { type: 'string' },
  arch: { type: 'string', multiple: true, default: ['x64', 'arm64'] },
}
const { out, package: given, arch: architectures } = parseArgs({ options }).values
const debianNames = { x64: 'amd64', arm64: 'arm64' }
if (out === undefined || architectures.some(arch => !(arch in debianNames))) {
  console.error('Pass --out FOLDER, and --arch x64 or arm64 to build for only one architecture.')
  process.exit(2)
}

const root = path.join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const { version, description, devDependencies } = manifest
const committedAt = String(run(root, ['git', 'log', '-1', '--format=%ct'])).trim()
const work = mkdtempSync(path.join(tmpdir(), 'pipespan-artifacts-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
mkdirSync(out, { recursive: true })
// Every architecture gets the same files: the content of the packed npm package.
const shipped = path.join(work, 'shipped')
mkdirSync(shipped)
const packedFile =
  given ?? path.join(work, String(run(root, ['npm', 'pack', '--silent', '--pack-destination', work])).trim())
run(shipped, ['tar', 'xzf', path.resolve(packedFile), '--strip-components=1'])

for (const arch of architectures) {
  const tree = treeOf(arch)
  for (const [name, bytes] of [tarball(arch, tree), debianPackage(arch, tree)])
    writeFileSync(path.join(out, name), bytes)
}
writeSums(out)

/** Creates the files shared by the tarball and the Debian package: Node.js, the bundle, and a program that starts the bundle with Node.js. */
function treeOf(arch) {
  const tree = path.join(work, arch)
  mkdirSync(path.join(tree, 'bin'), { recursive: true })
  cpSync(shipped, tree, { recursive: true })
  const node = path.join(work, `node-${arch}`)
  mkdirSync(node)
  run(node, ['npm', 'pack', '--silent', `node-linux-${arch}@${devDependencies.node}`])
  run(node, ['tar', 'xzf', readdirSync(node)[0]])
  cpSync(path.join(node, 'package/bin/node'), path.join(tree, 'bin/node'))
  cpSync(path.join(node, 'package/LICENSE'), path.join(tree, 'LICENSE.node'))
  const start = '#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\nexec "$here/node" "$here/../dist/main.js" "$@"\n'
  writeFileSync(path.join(tree, 'bin/pipespan'), start)
  for (const program of ['node', 'pipespan']) chmodSync(path.join(tree, 'bin', program), 0o755)
  return tree
}

/** Creates the tarball. After unpacking, `bin/pipespan` runs from any folder. */
function tarball(arch, tree) {
  const name = `pipespan-${version}-linux-${arch}`
  const top = path.join(work, 'tarball', name)
  cpSync(tree, top, { recursive: true })
  writeFileSync(path.join(top, 'pipespan.service'), unit(`/opt/pipespan`))
  return [`${name}.tar.gz`, packed(path.dirname(top), name)]
}

/** Creates the Debian package: the files in /usr/lib/pipespan, the systemd unit, and a settings file that an upgrade does not overwrite. */
function debianPackage(arch, tree) {
  const data = path.join(work, `data-${arch}`)
  const at = name => path.join(data, name)
  for (const folder of ['usr/bin', 'usr/lib/systemd/system', 'usr/share/doc/pipespan', 'etc/pipespan'])
    mkdirSync(at(folder), { recursive: true })
  cpSync(tree, at('usr/lib/pipespan'), { recursive: true })
  writeFileSync(at('usr/lib/systemd/system/pipespan.service'), unit('/usr/lib/pipespan'))
  symlinkSync('../lib/pipespan/bin/pipespan', at('usr/bin/pipespan'))
  cpSync(path.join(root, 'LICENSE'), at('usr/share/doc/pipespan/copyright'))
  cpSync(path.join(root, 'deploy/debian/environment'), at('etc/pipespan/environment'))
  const control = path.join(work, `control-${arch}`)
  mkdirSync(control)
  for (const script of ['postinst', 'prerm', 'postrm']) {
    cpSync(path.join(root, 'deploy/debian', script), path.join(control, script))
    chmodSync(path.join(control, script), 0o755)
  }
  writeFileSync(path.join(control, 'conffiles'), '/etc/pipespan/environment\n')
  const kilobytes = Number.parseInt(String(run(data, ['du', '-sk', '.'])), 10)
  const fields = {
    ...{ Package: 'pipespan', Version: version, Architecture: debianNames[arch], Section: 'net', Priority: 'optional' },
    ...{ Maintainer: 'The Pipespan maintainers <maintainers@pipespan.invalid>', 'Installed-Size': kilobytes },
    ...{
      Depends: 'libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9)',
      Recommends: 'systemd (>= 250)',
      Description: description,
    },
  }
  const text = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`)
  writeFileSync(path.join(control, 'control'), text.join(''))
  const members = { 'debian-binary': '2.0\n', 'control.tar.gz': packed(control), 'data.tar.gz': packed(data) }
  return [`pipespan_${version}_${debianNames[arch]}.deb`, archive(members)]
}

/** Returns the systemd unit for an installation in this folder. The installation includes its own Node.js. */
function unit(folder) {
  const text = readFileSync(path.join(root, 'deploy/systemd/pipespan.service'), 'utf8')
  return text.replace('/usr/bin/node', `${folder}/bin/node`).replaceAll('/opt/pipespan', folder)
}

/** Creates a tar archive whose bytes depend only on the names and contents of the files. */
function packed(folder, name = '.') {
  const same = [
    '--sort=name',
    `--mtime=@${committedAt}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=go=rX,u+rw,a-s',
  ]
  return run(folder, ['gzip', '-n'], run(folder, ['tar', '--create', '--format=gnu', ...same, name]))
}

/** Creates an `ar` archive. Each member is preceded by a header of 60 bytes, and has an even length. */
function archive(members) {
  const parts = Object.entries(members).flatMap(([name, content]) => {
    const bytes = Buffer.from(content)
    const head = `${name.padEnd(16)}${committedAt.padEnd(12)}${'0'.padEnd(6).repeat(2)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`
    return [Buffer.from(head), bytes, Buffer.from(bytes.length % 2 === 0 ? '' : '\n')]
  })
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts])
}

/** Runs a program and returns its output. If the program fails, the script exits with the program's message. */
function run(cwd, [program, ...args], input) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, input, maxBuffer: 1 << 30 })
  if (status === 0) return stdout
  console.error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  process.exit(1)
}
