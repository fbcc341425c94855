// Tests what chunks add to the figures over time, before the figures are stored.
import { describe, expect, it } from 'vitest'
import { foldedName } from '../../../src/core/store/ports/pipeline-name.ts'
import { maxNames, PipelineNames } from '../../../src/features/trends/counting/sums.ts'
import { countedOf } from '../../../src/features/trends/counting/counted-chunk.ts'
import { branchClassOf } from '../../../src/model/pipeline.ts'

const facts = { status: 'success', ref: 'feature/search', commit: { message: 'Cache the tree\n\nmore' } } as const

describe('the name under which a pipeline is counted', () => {
  it.each([
    ['Nightly', 'Nightly'],
    ['Pipeline of feature/search', 'Pipeline of *'],
    ['Cache the tree (feature/search)', '* (*)'],
    ['Build 1234 of 0a1b2c3d', 'Build * of *'],
    ['defaced', 'defaced'],
    [undefined, ''],
  ])('turns the pipeline name %s into %s', (name, folded) => {
    expect(foldedName({ ...facts, name })).toBe(folded)
  })

  it('counts the pipelines of each project under a limited number of names', () => {
    const names = new PipelineNames()
    const word = (count: number): string => 'x'.repeat(count + 1)
    const counted = { instance: '', project: 'acme/shop', branch: 'default', source: '', jobs: [] } as const
    const of = (pipelineName: string, projectId = 3): string => names.of({ ...counted, projectId, pipelineName })
    for (let count = 0; count < maxNames; count += 1) expect(of(word(count))).toBe(word(count))
    expect([of('one more'), of(word(0)), of('one more', 4)]).toEqual(['', word(0), 'one more'])
  })
})

it.each([
  [{ ref: 'main' }, 'default'],
  [{ ref: 'main', tag: true }, 'tag'],
  [{ ref: 'main', source: 'merge_request_event' }, 'merge_request'],
  [{ ref: 'refs/merge-requests/1/head' }, 'merge_request'],
  [{ ref: 'fix' }, 'other'],
  [{}, 'other'],
])('assigns a pipeline with %o to the branch class %s', (pipeline, branch) => {
  expect(branchClassOf(pipeline, { defaultBranch: 'main' })).toBe(branch)
})

it('counts the queue time of a pipeline once, and not again for each retry', () => {
  const queueOf = (attempt: number) => {
    const pipeline = {
      facts: { status: 'success', queuedDuration: 12 },
      ...{ start: 1_000, end: 61_000, incomplete: false, failures: [], jobCount: 0 },
    }
    const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: 7 } as const
    const key = { instance: 'https://git.example.com', pipelineId: 7 }
    const chunk = { key, project: { id: 3 }, attempt, number: 1, kind: 'attempt', trace, pipeline, jobs: [] } as const
    return countedOf(chunk, new Map())?.pipeline?.queuedMs
  }
  expect([queueOf(1), queueOf(2)]).toEqual([12_000, undefined])
})
