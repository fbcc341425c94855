// The instrumentation scope of everything that pipelines become.
import { version } from '../../lib/version.ts'
import type { Scope } from './messages.ts'

export const scope: Scope = { name: 'pipespan', version }
