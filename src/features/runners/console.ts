// The runners page, its JSON API route and its tool, and the runner entries in the list of what to fix first.
import { z } from 'zod'
import { at, type ConsolePart } from '../../console/console-part.ts'
import { createRunnersView } from './view.ts'
import { fixSources, type FoundFix } from '../../console/overview/overview-shape.ts'
import { get } from '../../console/api/api-route.ts'
import { longWait, runnersViewShape, type RunnersView } from './figures.ts'
import { counted, duration, number } from '../../console/layout/format.ts'
import { runnersPage } from './page.ts'
import type { PagesParts } from '../../console/ports.ts'

const week = 7 * 86_400_000

export function runnersConsole(): ConsolePart {
  const known = new WeakMap<PagesParts, () => Promise<RunnersView>>()
  /** Returns the runner figures, cached separately for each set of projects that users may see. */
  const viewOf = async (parts: PagesParts): Promise<RunnersView> => {
    const read = known.get(parts) ?? createRunnersView(parts)
    known.set(parts, read)
    return read()
  }
  return {
    links: [{ group: 'Why is it slow', link: ['/runners', 'Runners'] }],
    fills: [fixSources.with({ kind: 'wait', read: async parts => longWaitFixes(await viewOf(parts)) })],
    pages: parts => [at('/runners', async context => runnersPage(await viewOf(parts), context))],
    routes: parts => [
      get(
        '/runners',
        'Runners over the last day, by their tags: how many jobs ran at the same time, how long jobs waited, and which jobs are waiting now.',
        { answer: runnersViewShape },
        async () => viewOf(parts),
      ),
    ],
    tools: [
      {
        name: 'runners',
        title: 'Runners and waits',
        description:
          'Runners over the last day by their tags: how many jobs ran at the same time, how long jobs waited in milliseconds, and which jobs are waiting now.',
        path: '/runners',
        answer: runnersViewShape.extend({
          tagSets: z.array(runnersViewShape.shape.tagSets.element.omit({ busy: true })),
        }),
      },
    ],
  }
}

/**
 * Adds long waits for runners to the list of what to fix first. Only waits of the last day are known, so a week's waiting time is extrapolated from
 * them. Waiting has no price.
 */
export function longWaitFixes({ tagSets, since, until }: Pick<RunnersView, 'tagSets' | 'since' | 'until'>): FoundFix[] {
  return tagSets.map(({ tagSet, jobs, longWaits }) => ({
    subject: `Runners ${tagSet === undefined ? 'of unknown tags' : tagSet === '' ? 'without tags' : `with tags ${tagSet}`}`,
    weekMs: (longWaits.ms * week) / Math.max(1, until - since),
    why: `${number(longWaits.jobs)} of ${counted(jobs, 'job')} waited longer than ${duration(longWait)} in the last day; the time is how long they waited beyond that.`,
    path: '/runners',
  }))
}
