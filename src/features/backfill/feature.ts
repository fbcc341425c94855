// `pipespan backfill`: finds past pipelines for a running daemon to export, or exports them itself. Read `command.ts` first, which is one run of the
// command. It reads pipelines (`pipelines.ts`, and project by project `past-pipelines.ts`). If a flag asks for it, it runs the backfill of another
// feature instead (`Backfill` in the shape of features). An interrupted backfill continues when the same command runs again.
import { addBackfillCommand } from './command-line.ts'
import { feature } from '../../daemon/feature.ts'

export const backfill = feature({
  name: 'backfill',
  commands: addBackfillCommand,
  console: async () => (await import('./console.ts')).backfillConsole,
})
