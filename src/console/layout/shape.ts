// The building blocks of shapes. Each shape is declared once, next to the code that computes its values; its type, its JSON and its OpenAPI schema
// are derived from the declaration.
import { z } from 'zod'
import type { Span } from './trend-spans.ts'

export const millis = z.number().describe('Unix time in milliseconds.')
export const ms = z.number().describe('Milliseconds.')
export const counts = z.record(z.string(), z.number())
/** The platform and the project that a value belongs to. */
export const place = { instance: z.string(), projectId: z.number(), project: z.string() }
export const own = z
  .string()
  .optional()
  .describe('Value of the attribute named by PIPESPAN_PAGES_GROUP_BY. Only projects with this value are counted.')
/** The name of a period, such as `30d`. */
export const span = z.string<Span>()

/** The read-only type that a shape describes. */
export type Shaped<Shape extends z.ZodType> = Deep<z.infer<Shape>>

type Deep<T> = T extends object ? { readonly [Key in keyof T]: Deep<T[Key]> } : T
