// Golden files that people read: OTLP/JSON with one line an attribute, and without the package's own version.
import { version } from '../../../src/lib/version.ts'

/** The same JSON, every `{ key, value }` and every short array on one line. */
export function readable(json: string): string {
  return `${written(JSON.parse(json), '').replaceAll(`"version": "${version}"`, '"version": "VERSION"')}\n`
}

function written(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null || 'key' in value) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[\n${value.map(item => inner + written(item, inner)).join(',\n')}\n${indent}]`
  }
  const fields = Object.entries(value).map(([key, field]) => `${inner}${JSON.stringify(key)}: ${written(field, inner)}`)
  return fields.length === 0 ? '{}' : `{\n${fields.join(',\n')}\n${indent}}`
}
