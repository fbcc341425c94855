// The units of the JSON API's answers.
import { z } from 'zod'

export const millis = z.number().describe('Unix time in milliseconds.')
export const ms = z.number().describe('Milliseconds.')
