// Parses answers of the token API. The documentation does not specify their shapes, so every plausible shape is accepted.
import { z } from 'zod'

/** A token as the list shows it. A list never contains values. */
export interface ListedToken {
  readonly id: string
  /** Undefined if the list has no names. */
  readonly name?: string | undefined
  /** Unix ms. */
  readonly createdAt?: number | undefined
  /** Unix ms. */
  readonly lastUsedAt?: number | undefined
  /** Unix ms. */
  readonly expiresAt?: number | undefined
  /** False if the list says that the token is revoked or has expired. */
  readonly valid: boolean
}

const id = z.union([z.string().min(1), z.number()]).transform(String)
const text = z.string().nullish().catch(undefined)

const listed = z.looseObject({
  id,
  name: text,
  created_at: text,
  last_used_at: text,
  revoked_at: text,
  expires_at: text,
  revoked: z.boolean().nullish().catch(undefined),
  status: text,
})

const list = z.union([
  z.array(listed),
  z.looseObject({ tokens: z.array(listed) }).transform(body => body.tokens),
  z.looseObject({ data: z.array(listed) }).transform(body => body.data),
  z.looseObject({ data: z.looseObject({ tokens: z.array(listed) }) }).transform(body => body.data.tokens),
])

const creation = z.looseObject({ token: z.string().min(1), id: id.nullish().catch(undefined) })

const created = z.union([creation, z.looseObject({ data: creation }).transform(body => body.data)])

/** The state of enforcement. Null means false, as in all of the platform's answers. */
const enabled = z.looseObject({
  enabled: z
    .boolean()
    .nullable()
    .transform(is => is === true),
})

const state = z.union([
  enabled,
  z.looseObject({ data: enabled }).transform(body => body.data),
  z.looseObject({ state: enabled }).transform(body => body.state),
])

/** Parses a list: an array, or an object with `tokens` or `data`. IDs are numbers or strings. Undefined for any other shape. */
export function readList(json: unknown, now: number): readonly ListedToken[] | undefined {
  const { data } = list.safeParse(json)
  return data?.map(entry => {
    const expiresAt = time(entry.expires_at)
    const isOver = entry.revoked === true || entry.revoked_at != null || /^(revoked|expired)$/i.test(entry.status ?? '')
    return {
      id: entry.id,
      valid: !isOver && !(expiresAt !== undefined && expiresAt <= now),
      name: entry.name ?? undefined,
      createdAt: time(entry.created_at),
      lastUsedAt: time(entry.last_used_at),
      expiresAt,
    }
  })
}

/** The value, and the ID if the answer has one. Undefined if there is no value. */
export function readCreated(json: unknown): { readonly value: string; readonly id: string | undefined } | undefined {
  const { data } = created.safeParse(json)
  return data === undefined ? undefined : { value: data.token, id: data.id ?? undefined }
}

export function readState(json: unknown): boolean | undefined {
  return state.safeParse(json).data?.enabled
}

function time(value: string | null | undefined): number | undefined {
  const ms = value == null ? NaN : Date.parse(value)
  return Number.isNaN(ms) ? undefined : ms
}
