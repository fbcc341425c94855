// The table of collectors. To add a collector, write its row in a new file in this folder and add it to this table.
import { agents } from './agents.ts'
import { dependencies } from './dependencies.ts'
import { dependencyFirewall } from './dependency-firewall.ts'
import { featureFlags } from './feature-flags.ts'
import { groups, milestones } from './groups.ts'
import { includes } from './includes.ts'
import { refs, repositories } from './repositories.ts'
import { runners } from './runners.ts'
import { schedules } from './schedules.ts'
import type { Collector } from './collector.ts'

export const collectors: readonly Collector[] = [
  ...[agents, featureFlags, groups, dependencies, dependencyFirewall, milestones],
  ...[runners, schedules, repositories, refs, includes],
]
