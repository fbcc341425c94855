// The bodies of notifications: CloudEvents 1.0 (structured mode), messages for Slack and compatible services, and JSON for e-mail gateways.
//
// Titles and sentences come from projects, so they may try to mention people or to contain links. Slack's control characters are escaped. Mattermost,
// mail programs and others also interpret `@channel`, Markdown links and bare addresses, with or without a scheme; an invisible space breaks these
// up.
import { durationText } from '../../model/instant.ts'
import { isEvent, type AnyChunk, type EventChunk, type EventValue } from '../../model/event.ts'
import { messageAttributes } from './incident.ts'
import { plainLine } from '../../lib/plain-text.ts'

export const notificationFormats = ['cloudevents', 'slack', 'email'] as const
export type NotificationFormat = (typeof notificationFormats)[number]

/** Only the e-mail format uses these addresses. */
export interface EmailAddresses {
  readonly from?: string | undefined
  readonly to: readonly string[]
}

interface Message {
  readonly id: string
  readonly incident: string
  readonly chunk: EventChunk
  /** The title of the message, without line breaks. */
  readonly title: string
  readonly text?: string | undefined
  /** The URL of a page on the platform. */
  readonly url?: string | undefined
  readonly details: Readonly<Record<string, EventValue>>
}

interface Format {
  readonly contentType: string
  readonly body: (message: Message, addresses: EmailAddresses) => object
}

/** The maximum number of characters in a title, which is also the subject of an e-mail. */
const maxTitle = 250

const formats: Readonly<Record<NotificationFormat, Format>> = {
  cloudevents: {
    contentType: 'application/cloudevents+json; charset=utf-8',
    body: ({ id, incident, chunk, title, text, url, details }) => ({
      ...{ specversion: '1.0', id, source: chunk.key.instance, type: `com.pipespan.${chunk.event.name}` },
      ...{ subject: chunk.project?.path ?? chunk.group, time: new Date(chunk.at).toISOString() },
      datacontenttype: 'application/json',
      data: { incident, severity: chunk.event.severity, title, text, url, project: projectOf(chunk), details },
    }),
  },
  slack: {
    contentType: 'application/json',
    body: ({ title, text, url, chunk }) => ({
      text: [
        `${chunk.event.severity === 'info' ? ':white_check_mark:' : ':x:'} *${escaped(unlinked(title))}*`,
        ...(text === undefined ? [] : [escaped(unlinked(text))]),
        ...(url === undefined ? [] : [`<${linkTarget(url)}|Show it>`]),
      ].join('\n'),
      ...{ unfurl_links: false, unfurl_media: false },
    }),
  },
  email: {
    contentType: 'application/json',
    body: ({ id, incident, title, text, url }, { from, to }) => ({
      ...{ from, to, subject: unlinked(title) },
      text: [
        ...[title, text].filter(part => part !== undefined).map(unlinked),
        ...(url === undefined ? [] : [url]),
      ].join('\n\n'),
      // With these headers, mail programs show the messages of an incident as one thread, and a repeated message only once.
      headers: { 'Message-ID': `<${id}@pipespan>`, References: `<${incident}@pipespan>` },
    }),
  },
}

export function contentTypeOf(format: NotificationFormat): string {
  return formats[format].contentType
}

/** Returns a function that encodes messages in this format. The function throws if the chunk does not contain a message. */
export function encodeNotification(
  format: NotificationFormat,
  addresses: EmailAddresses,
): (chunk: AnyChunk) => Uint8Array {
  return chunk => {
    const message = messageOf(chunk)
    if (message === undefined) throw new Error('the chunk does not contain a notification')
    return Buffer.from(JSON.stringify(formats[format].body(message, addresses)))
  }
}

/** Returns the id of a message. It is the same for every attempt, so that receivers can deduplicate messages. */
function messageId(chunk: AnyChunk): string | undefined {
  const id = isEvent(chunk) ? chunk.event.attributes[messageAttributes.id] : undefined
  return id?.toString()
}

function messageOf(chunk: AnyChunk): Message | undefined {
  const id = messageId(chunk)
  if (id === undefined || !isEvent(chunk)) return undefined
  const { incident, since, text, url, details } = namedOf(chunk)
  const isOver = chunk.event.severity === 'info'
  const lasted = isOver && typeof since === 'number' ? `It lasted ${durationText(Math.max(0, chunk.at - since))}.` : ''
  const sentences = [text?.toString() ?? '', lasted].filter(part => part !== '').join(' ')
  return {
    ...{ id, incident: String(incident), chunk, details },
    title: plainLine(chunk.event.body).slice(0, maxTitle).toWellFormed(),
    text: sentences === '' ? undefined : plainLine(sentences),
    url: ownUrl(url, chunk.key.instance),
  }
}

/** Separates the message's own attributes from the details of its condition. */
function namedOf({ event: { attributes } }: EventChunk) {
  const { id, incident, since, text, url } = messageAttributes
  const { [id]: _, [incident]: ofIncident, [since]: began, [text]: words, [url]: address, ...details } = attributes
  return { incident: ofIncident, since: began, text: words, url: address, details }
}

function projectOf({ project }: EventChunk): object | undefined {
  return project && { id: project.id, path: project.path, url: project.webUrl }
}

/** Returns the URL, or undefined if it does not point to the platform. */
function ownUrl(url: EventValue | undefined, instance: string): string | undefined {
  const parsed = URL.parse(String(url ?? ''))
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.origin === URL.parse(instance)?.origin
    ? parsed.href
    : undefined
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const space = '\u200b'

/** Neutralises mentions and links in a string. */
function unlinked(text: string): string {
  return text.replace(/@(?=\S)|:(?=\/\/)|\](?=\()|(?<=[\p{L}\p{N}-])(?=[.\u3002\uff0e\uff61]\p{L})/gu, `$&${space}`)
}

/** Escapes Slack's control characters. */
function escaped(text: string): string {
  return text.replace(/[&<>]/g, sign => escapes[sign] ?? '')
}

function linkTarget(url: string): string {
  return url.replace(/[<>|]/g, encodeURIComponent)
}
