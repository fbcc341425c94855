// `pipespan backfill`: finds what happened in the past, for a running daemon to export, or exports it itself. Read `command.ts` first: one run of the
// command. It reads pipelines (`pipelines.ts`, and project by project `past-pipelines.ts`), or what another feature reads where a flag asks for it
// (`Backfill` of the shape of features). One that was interrupted continues when the same command runs again.
import { addBackfillCommand } from './command-line.ts'
import { feature } from '../../daemon/feature.ts'

export const backfill = feature({
  name: 'backfill',
  commands: addBackfillCommand,
  console: async () => (await import('./console.ts')).backfillConsole,
})
