// Converts decoded protobuf values to plain ones: attributes, ids, times.

/** An attribute's value. An int64 is a number if it is a safe integer, else a bigint. */
export type PlainValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly PlainValue[]
  | { readonly [key: string]: PlainValue }

export type Attributes = Readonly<Record<string, PlainValue>>

/** A 64-bit integer as protobufjs decodes it (a Long). */
export interface Int64 {
  toNumber(): number
  toBigInt(): bigint
}

export interface WireAnyValue {
  /** Which member of the oneof is set; undefined is OTLP's empty value. */
  readonly value?: string
  readonly stringValue: string
  readonly boolValue: boolean
  readonly intValue: Int64
  readonly doubleValue: number
  readonly arrayValue: { readonly values: readonly WireAnyValue[] }
  readonly kvlistValue: { readonly values: readonly WireKeyValue[] }
  readonly bytesValue: Uint8Array
}

export interface WireKeyValue {
  readonly key: string
  readonly value?: WireAnyValue | null
}

export interface WireScope {
  readonly name: string
  readonly version: string
  readonly attributes: readonly WireKeyValue[]
}

export interface WireResource {
  readonly attributes: readonly WireKeyValue[]
}

export interface ReceivedResource {
  readonly attributes: Attributes
  readonly schemaUrl: string
}

export interface ReceivedScope {
  readonly name: string
  readonly version: string
  readonly attributes: Attributes
  readonly schemaUrl: string
}

/** Of two equal keys the later one wins, as in backends. Without a prototype, so that `__proto__` is an ordinary key. */
export function plainAttributes(list: readonly WireKeyValue[]): Attributes {
  const attributes = Object.create(null) as Record<string, PlainValue>
  for (const { key, value } of list) attributes[key] = plainValue(value)
  return attributes
}

export function plainValue(value: WireAnyValue | null | undefined): PlainValue {
  switch (value?.value) {
    case 'stringValue':
      return value.stringValue
    case 'boolValue':
      return value.boolValue
    case 'intValue':
      return plainInt(value.intValue)
    case 'doubleValue':
      return value.doubleValue
    case 'arrayValue':
      return value.arrayValue.values.map(plainValue)
    case 'kvlistValue':
      return plainAttributes(value.kvlistValue.values)
    case 'bytesValue':
      return new Uint8Array(value.bytesValue)
    default:
      return null
  }
}

export function plainInt(value: Int64): number | bigint {
  const number = value.toNumber()
  return Number.isSafeInteger(number) ? number : value.toBigInt()
}

/** Lower-case hex; undefined for an empty id. */
export function plainId(bytes: Uint8Array): string | undefined {
  return bytes.length === 0 ? undefined : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}

/** Whole milliseconds of Unix time, to compare with the platform's times. */
export function millisOf(nanos: bigint): number {
  return Number(nanos / 1_000_000n)
}

export function plainResource(resource: WireResource | null | undefined, schemaUrl: string): ReceivedResource {
  return { attributes: plainAttributes(resource?.attributes ?? []), schemaUrl }
}

export function plainScope(scope: WireScope | null | undefined, schemaUrl: string): ReceivedScope {
  const attributes = plainAttributes(scope?.attributes ?? [])
  return { name: scope?.name ?? '', version: scope?.version ?? '', attributes, schemaUrl }
}
