// Parses ids of projects, pipelines and jobs in addresses.

/** Undefined unless it is a positive safe integer. */
export function wholeNumber(text: string): number | undefined {
  const number = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) && number > 0 ? number : undefined
}
