// A command of the program, run in the test's own process, which is quicker than a process of its own.
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/commands/program.ts'

/** What a command came to. */
export interface Command {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** To its end; nothing that would configure it is inherited. */
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
