// How OTLP/gRPC shows itself to OTLP/HTTP, and what to do: the same sentence in exports, in `doctor` and in the configuration's warnings.

/** The rest of a sentence that begins with why it is gRPC. */
export const useOtlpHttp = 'OTLP/HTTP usually listens at 4318'

export const isOtlpGrpc = `this is OTLP/gRPC; ${useOtlpHttp}`

/** True for the port that the OTLP specification gives to gRPC, and for one that hosted backends derive from it. */
export function isGrpcPort(url: string): boolean {
  return ['4317', '14317'].includes(new URL(url).port)
}

/** Servers of gRPC that have a sentence in HTTP/1.1 for such requests: those of Go and of .NET. */
export function isRefusedByGrpc(words: string | undefined): boolean {
  return /\bgRPC requires HTTP\/2\b|\bHTTP\/2 only endpoint\b/i.test(words ?? '')
}

export function isGrpc(contentType: string | undefined): boolean {
  return /^\s*application\/grpc\b/i.test(contentType ?? '')
}
