// Builds the files of a release that need no npm where they run, into --out FOLDER: for each --arch (x64, arm64) a tarball of Node, the
// package and the systemd unit, and a Debian package of the same tree; and SHA256SUMS. `--package`: the packed file, else it is packed. The same commit gives the same bytes: names are
// sorted, and all times are the commit's. Node's binaries are those of the npm registry, in the version that package.json pins.
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
  console.error('Give --out FOLDER, and --arch x64 or arm64 to build only one.')
  process.exit(2)
}

const root = path.join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const { version, description, devDependencies } = manifest
const committedAt = String(run(root, ['git', 'log', '-1', '--format=%ct'])).trim()
const work = mkdtempSync(path.join(tmpdir(), 'pipespan-artifacts-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
mkdirSync(out, { recursive: true })
// What ships is the same everywhere: the content of the packed file.
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

/** What both files have in common: Node, the bundle, and a program that starts one with the other. */
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

/** Runs from any folder: `bin/pipespan`. */
function tarball(arch, tree) {
  const name = `pipespan-${version}-linux-${arch}`
  const top = path.join(work, 'tarball', name)
  cpSync(tree, top, { recursive: true })
  writeFileSync(path.join(top, 'pipespan.service'), unit(`/opt/pipespan`))
  return [`${name}.tar.gz`, packed(path.dirname(top), name)]
}

/** The tree in /usr/lib/pipespan, its unit, and settings that an upgrade keeps. */
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

/** The systemd unit, for a tree with a Node of its own in this folder. */
function unit(folder) {
  const text = readFileSync(path.join(root, 'deploy/systemd/pipespan.service'), 'utf8')
  return text.replace('/usr/bin/node', `${folder}/bin/node`).replaceAll('/opt/pipespan', folder)
}

/** A tar archive that depends on names and contents alone. */
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

/** An `ar` archive: a head of 60 bytes before each member, which has an even length. */
function archive(members) {
  const parts = Object.entries(members).flatMap(([name, content]) => {
    const bytes = Buffer.from(content)
    const head = `${name.padEnd(16)}${committedAt.padEnd(12)}${'0'.padEnd(6).repeat(2)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`
    return [Buffer.from(head), bytes, Buffer.from(bytes.length % 2 === 0 ? '' : '\n')]
  })
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts])
}

/** What a program prints; ends with its message if it fails. */
function run(cwd, [program, ...args], input) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, input, maxBuffer: 1 << 30 })
  if (status === 0) return stdout
  console.error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  process.exit(1)
}
