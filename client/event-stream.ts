import {
  AuthenticationError,
  ConnectionError,
  errorOf,
  PortcullisError,
  ProblemError,
} from './errors.ts';
import type { Event } from './generated/operations.ts';
import { sleep } from './retry.ts';

export interface EventOptions {
  /** Go on after this event: the `lastEventId` of one that was received. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
  /** Called when the connection is there, and when it is lost and will be opened again. */
  readonly onConnection?: (state: 'open' | 'lost') => void;
}

/** An event, and the id to resume after it. */
export type ReceivedEvent = Event & { readonly lastEventId: string };

interface Stream {
  readonly fetch: typeof fetch;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;
/** The service sends something every 15 seconds. */
const SILENT_MS = 45_000;

/**
 * Events for ever: a broken connection is opened again, after the last event that was received. Ends with the reason
 * of the signal, or when the key or session is refused.
 */
export async function* followEvents(
  stream: Stream,
  { lastEventId, signal, onConnection }: EventOptions,
): AsyncGenerator<ReceivedEvent, void> {
  let last = lastEventId;
  let delay = FIRST_DELAY_MS;
  for (;;) {
    try {
      const onOpen = (): void => onConnection?.('open');
      for await (const message of connect(stream, { last, signal, onOpen })) {
        delay = FIRST_DELAY_MS;
        if (message.id !== '') last = message.id;
        if (message.data === '') continue;
        const event = parseEvent(message);
        if (event !== null) yield { ...event, lastEventId: last ?? '' };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isFinal(error)) throw error;
    }
    onConnection?.('lost');
    await sleep(delay / 2 + (delay / 2) * Math.random(), signal);
    delay = Math.min(MAX_DELAY_MS, delay * 2);
  }
}

function isFinal(error: unknown): boolean {
  if (error instanceof AuthenticationError) return true;
  if (error instanceof ProblemError) return error.status < 500 && error.status !== 429;
  // A runtime reports a broken body as a TypeError or an error of its own.
  return error instanceof PortcullisError && !(error instanceof ConnectionError);
}

interface Message {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

function parseEvent({ event, data }: Message): Event | null {
  try {
    const value = JSON.parse(data) as Partial<Event>;
    // A message of the stream itself, such as `gap`, is no event of a target.
    if (value.kind !== undefined) return value as Event;
    return { id: 0, at: '', kind: event, target: '', data: value };
  } catch {
    return null;
  }
}

interface Connecting {
  readonly last: string | undefined;
  readonly signal: AbortSignal | undefined;
  onOpen(): void;
}

/** One connection: its messages until it ends. */
async function* connect(
  { fetch: callFetch, url, headers }: Stream,
  { last, signal, onOpen }: Connecting,
): AsyncGenerator<Message, void> {
  const ending = new AbortController();
  const abort = (): void => ending.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = async <T>(answer: Promise<T>): Promise<T> => {
    const silent = new ConnectionError('The stream is silent.');
    timer = setTimeout(() => ending.abort(silent), SILENT_MS);
    return answer.finally(() => clearTimeout(timer));
  };
  try {
    const opened = callFetch(url, {
      headers: {
        ...headers,
        accept: 'text/event-stream',
        ...(last !== undefined && { 'last-event-id': last }),
      },
      signal: ending.signal,
      redirect: 'error',
    });
    const response = await wait(opened);
    if (!response.ok || response.body === null) throw errorOf(response, await response.text());
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = createParser();
    for (;;) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      yield* parser(value);
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    ending.abort();
  }
}

/** Splits text into messages: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
export function createParser(): (text: string) => Message[] {
  let rest = '';
  let lines: string[] = [];
  return (text) => {
    const parts = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop() ?? '';
    const messages: Message[] = [];
    for (const line of parts) {
      if (line !== '') {
        lines.push(line);
        continue;
      }
      const message = toMessage(lines);
      if (message.id !== '' || message.data !== '') messages.push(message);
      lines = [];
    }
    return messages;
  };
}

function toMessage(lines: readonly string[]): Message {
  const fields: Record<string, string[]> = { id: [], event: [], data: [] };
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    fields[name]?.push(value);
  }
  const { id = [], event = [], data = [] } = fields;
  return { id: id.at(-1) ?? '', event: event.at(-1) ?? 'message', data: data.join('\n') };
}
