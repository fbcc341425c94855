// Measures how many pipelines are exported per second under full load, with webhooks of finished pipelines only. The rival is a bare server that
// receives the same webhooks.
import { finishes } from './hooks.ts'
import { fullLoadRounds, defaultBacklog } from './full-load.ts'
import type { Question } from './question.ts'

export const sustained: Question = {
  id: 'sustained',
  name: 'finished pipelines taken in and exported per second, sustained',
  against: 'bare node:http that only collects the body',
  asked: { atLeast: 0.085 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Every webhook a finished pipeline of 20 jobs (24.6 KB): parsed, merged, mapped, encoded, gzipped and answered by a ` +
    `local receiver; ${quick ? 4 : 60} s, never more than ${defaultBacklog(quick).toLocaleString('en')} accepted and not yet exported; settle delay 0, no ` +
    'enrichment, traces.',
  rounds: quick =>
    fullLoadRounds(quick, {
      hooks: () => finishes(20),
      backlog: defaultBacklog(quick),
      roundOf: ({ pipelinesPerSecond }) => ({ ours: pipelinesPerSecond }),
    }),
}
