// Measures how many pipelines are exported per second under full load, with webhooks of finished pipelines only. The rival is a bare server that
// receives the same webhooks.
import { finishes } from './hooks.ts'
import { fullLoadRounds, defaultBacklog } from './full-load.ts'
import type { Question } from './question.ts'

export const sustained: Question = {
  id: 'sustained',
  name: 'finished pipelines taken in and exported per second, sustained',
  against: 'a bare node:http server that only reads the body',
  asked: { atLeast: 0.085 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Every webhook reports a finished pipeline of 20 jobs (24.6 KB), which is parsed, merged, mapped, encoded, gzipped and acknowledged by a ` +
    `local receiver. ${quick ? 4 : 60} s; at most ${defaultBacklog(quick).toLocaleString('en')} pipelines are accepted but not yet exported. Settle delay 0, no ` +
    'enrichment; only traces.',
  rounds: quick =>
    fullLoadRounds(quick, {
      hooks: () => finishes(20),
      backlog: defaultBacklog(quick),
      roundOf: ({ pipelinesPerSecond }) => ({ ours: pipelinesPerSecond }),
    }),
}
