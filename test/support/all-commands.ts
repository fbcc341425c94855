// All commands of the program, such as `tokens list`, as defined by the program itself.
import { buildProgram } from '../../src/commands/program.ts'
import type { Command } from 'commander'

/** Returns the names of all commands. With `choices`, each choice of an argument counts as a command, such as `enforcement on`. */
export function allCommands({ choices = false } = {}): string[] {
  const below = (command: Command): string[] => [
    ...command.commands.flatMap(pathsOf),
    ...(choices ? command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices) : []),
  ]
  const pathsOf = (command: Command): string[] => {
    const paths = below(command).map(path => `${command.name()} ${path}`)
    return paths.length === 0 ? [command.name()] : paths
  }
  return below(buildProgram(process, () => async () => undefined))
}
