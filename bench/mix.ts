// Measures how many webhooks are processed per second if a platform reports every change to its pipelines. The rival is a bare server that receives
// the same webhooks.
import { fullLoadRounds } from './full-load.ts'
import { platformMix } from './hooks.ts'
import type { Question } from './question.ts'

export const mix: Question = {
  id: 'mix',
  name: "webhooks of a platform's typical mix processed per second, sustained",
  against: 'a bare node:http server that only reads the body',
  asked: { atLeast: 0.12, aim: 0.2 },
  unit: 'webhooks/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    'Each pipeline of 20 jobs sends 68 webhooks: 8 pipeline events, of which one reports its finish, and 3 events for each job. 50 ' +
    `concurrent pipelines; ${quick ? 4 : 60} s; at most 20 finished pipelines are accepted but not yet exported. Settle delay 0, no ` +
    'enrichment; only traces, to a local receiver.',
  rounds: quick =>
    fullLoadRounds(quick, {
      hooks: platformMix,
      backlog: 20,
      roundOf: ({ webhooksPerSecond, pipelinesPerSecond }) => ({
        ours: webhooksPerSecond,
        seen: `${pipelinesPerSecond.toFixed(1)} pipelines exported per second`,
      }),
    }),
}
