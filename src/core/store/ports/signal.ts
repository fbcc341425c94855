// What is queued for a destination.

export const otlpSignals = ['traces', 'metrics', 'logs'] as const
export type OtlpSignal = (typeof otlpSignals)[number]
/** What is queued for a destination: telemetry, or messages to people. */
export const signals = [...otlpSignals, 'notifications'] as const
export type Signal = (typeof signals)[number]
