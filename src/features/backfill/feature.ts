// `pipespan backfill`: finds past pipelines for a running daemon to export, or exports them itself. Start with `command.ts`, which is one run of the
// command. It reads pipelines (`pipelines.ts`, and project by project `past-pipelines.ts`). If a flag asks for it, it runs another feature's backfill
// instead (the feature declares it as its `backfill`). An interrupted backfill resumes when the same command runs again.
import { addBackfillCommand } from './command-line.ts'
import { feature } from '../../daemon/feature.ts'

export const backfill = feature({
  name: 'backfill',
  commands: addBackfillCommand,
  console: async () => (await import('./console.ts')).backfillConsole,
})
