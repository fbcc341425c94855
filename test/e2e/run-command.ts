// Runs a command of the program within the test process, which is faster than a separate process.
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/commands/program.ts'

/** The result of a command. */
export interface Command {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command until it exits. It inherits no variables that would configure Pipespan. */
export async function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdin?: Readable,
): Promise<Command> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runProgram(args, { ...(stdin && { stdin }), stdout, stderr, env })
  stdout.end()
  stderr.end()
  return { code, stdout: await text(stdout), stderr: await text(stderr) }
}
