// Measures how many webhooks are processed per second if a platform reports every change to its pipelines. The rival is a bare server that receives
// the same webhooks.
import { fullLoadRounds } from './full-load.ts'
import { platformMix } from './hooks.ts'
import type { Question } from './question.ts'

export const mix: Question = {
  id: 'mix',
  name: "webhooks of a platform's mix worked off per second, sustained",
  against: 'bare node:http that only collects the body',
  asked: { atLeast: 0.12, aim: 0.2 },
  unit: 'webhooks/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    'Of each pipeline of 20 jobs 8 pipeline events, one of them its finish, and 3 events of each job (68 webhooks); 50 ' +
    `pipelines under way; ${quick ? 4 : 60} s, never more than 20 finishes accepted and not yet exported; settle delay ` +
    '0, no enrichment, traces to a local receiver.',
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
