// The features of Pipespan, one line each. If a feature's line and its folder are removed, the rest is still a complete product.
import { audit } from './features/audit/feature.ts'
import { backfill } from './features/backfill/feature.ts'
import { deployments } from './features/deployments/feature.ts'
import { gcpe } from './features/gcpe/feature.ts'
import { inventory } from './features/inventory/feature.ts'
import { jobInsides } from './features/job-insides/feature.ts'
import { mcp } from './features/mcp/feature.ts'
import { notifications } from './features/notifications/feature.ts'
import { regressions } from './features/regressions/feature.ts'
import { runners } from './features/runners/feature.ts'
import { tokens } from './features/tokens/feature.ts'
import { trends } from './features/trends/feature.ts'
import type { Feature } from './daemon/feature.ts'

export const features: readonly Feature[] = [
  audit,
  backfill,
  deployments,
  gcpe,
  inventory,
  jobInsides,
  mcp,
  notifications,
  regressions,
  runners,
  tokens,
  trends,
]
