// Tests which findings are grouped because they have the same cause.
import { expect, it } from 'vitest'
import { oneOfEach } from '../../../src/features/regressions/one-of-each.ts'
import type { Found } from '../../../src/features/regressions/judge-project.ts'

const minute = 60_000
const day = 86_400_000

function found(
  name: { readonly job?: string; readonly section?: string; readonly depth?: number },
  times: { readonly onDay: number; readonly until?: number; readonly longer: number },
): Found {
  const { job = '', section = '', depth } = name
  const run = (at: number): Found['episode']['first'] => ({ at, id: at + job.length, tookMs: 0, failed: false })
  const [start, end] = [times.onDay * day, times.until === undefined ? undefined : times.until * day]
  return {
    ...{ branch: 'default', job, section, kind: 'slower', before: [] },
    episode: {
      ...{ kind: 'slower', before: 10 * minute, after: (10 + times.longer) * minute, limit: 12 * minute },
      ...{ runs: { before: 10, after: 10 }, first: run(start), flagged: run(start + day / 2) },
      resolved: end === undefined ? undefined : { by: run(end), how: 'recovered' },
    },
    since: [{ outcome: run(start), depth }] as unknown as Found['since'],
  }
}

function flagged(...all: readonly Found[]): string[] {
  return oneOfEach(all).map(({ main }) => [main.job, main.section].filter(one => one !== '').join(' › ') || 'pipeline')
}

const install = found({ job: 'e2e', section: 'install', depth: 1 }, { onDay: 10, longer: 4 })
const script = found({ job: 'e2e', section: 'step_script', depth: 0 }, { onDay: 13, longer: 5 })

it('flags a single regression for a section and its enclosing sections, job and pipeline, even if the outer ones follow days later', () => {
  const job = found({ job: 'e2e' }, { onDay: 12, longer: 4 })
  const pipeline = found({}, { onDay: 14, longer: 3 })
  expect(flagged(install, script, job, pipeline)).toEqual(['e2e › install'])
})

it('flags a pipeline separately if its slowdown is more than twice the slowdown of its job', () => {
  expect(flagged(install, found({}, { onDay: 14, longer: 20 }))).toEqual(['e2e › install', 'pipeline'])
})

it('flags a regression separately if it begins after another one was resolved', () => {
  const over = found({ job: 'e2e', section: 'install', depth: 1 }, { onDay: 5, until: 8, longer: 4 })
  expect(flagged(over, script)).toEqual(['e2e › install', 'e2e › step_script'])
})

it('flags regressions of sibling sections and of different jobs separately', () => {
  const beside = found({ job: 'e2e', section: 'cases', depth: 1 }, { onDay: 14, longer: 4 })
  expect(flagged(install, beside, found({ job: 'lint' }, { onDay: 20, longer: 4 }))).toEqual([
    'e2e › install',
    'e2e › cases',
    'lint',
  ])
})
