// `pipespan backfill`: finds past pipelines for a running daemon to export, or exports them itself. Start with `command.ts`, which implements one run
// of the command. `pipelines.ts` reads the pipelines, and `past-pipelines.ts` those of one project. With another feature's flag, the command runs the
// `backfill` that this feature declares instead. An interrupted backfill resumes when the same command runs again.
import { addBackfillCommand } from './command-line.ts'
import { feature } from '../../daemon/feature.ts'

export const backfill = feature({
  name: 'backfill',
  commands: addBackfillCommand,
  console: async () => (await import('./console.ts')).backfillConsole,
})
