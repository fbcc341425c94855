// The instrumentation scope of everything that pipelines become: one constant object, because the serializers put together
// what shares a scope object.
import type { InstrumentationScope } from '@opentelemetry/core'
import { version } from '../../lib/version.ts'
import { schemaUrl } from '../mapping/semconv.ts'

export const scope: InstrumentationScope = { name: 'pipespan', version, schemaUrl }
