#!/usr/bin/env node
// The entry point: it passes the arguments to the command line and exits with the returned code. It also runs on old versions of Node.js, to report
// which version is needed.
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
const args = process.argv.slice(2)
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

const isOld = major < 22 || (major === 22 && minor < 19)
const isAboutVersion = args.includes('--version') || args[0] === '-V'

// The reader of the output may exit early (`| head`). That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

if (isAboutVersion) {
  process.stdout.write(`${manifest.version}\n`)
} else if (isOld) {
  process.stderr.write(
    `pipespan ${manifest.version} needs Node.js 22.19 or newer; this is ${process.versions.node}. ` +
      'In a checkout, `npm ci` installs Node 24: use `npx pipespan` or an npm script.\n',
  )
  process.exitCode = 2
} else {
  const { runProgram } = await import('./commands/program.ts')
  process.exitCode = await runProgram(args)
}
