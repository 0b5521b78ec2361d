// Errors of the server (RFC 9457) and of the network, in plain words.

interface Body {
  title?: string;
  detail?: string;
  parameter?: string;
  column?: number;
}

/** An answer that is an error. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    /** Of the query, that is wrong. */
    readonly parameter?: string,
    /** Of a filter, in characters, from 1. */
    readonly column?: number,
    /** Seconds until the request may be repeated. */
    readonly retryAfter?: number,
  ) {
    super(detail);
    this.name = 'Problem';
  }
}

/** The longest text of an error that is shown. */
const maxText = 400;

/** The problem that an answer is. It reads the body. */
export async function problemOf(response: Response): Promise<Problem> {
  let body: Body = {};
  try {
    body = (await response.json()) as Body;
  } catch {
    // A proxy's page says no more than the status.
  }
  const seconds = Number(response.headers.get('Retry-After') ?? NaN);
  return new Problem(
    response.status,
    (body.detail || body.title || `the server answered with status ${response.status}`).slice(0, maxText),
    body.parameter,
    body.column,
    Number.isFinite(seconds) ? seconds : undefined,
  );
}

/** Whether somebody gave the request up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Whether the same request may succeed later: the network, a busy server. */
export function isPassing(error: unknown): boolean {
  if (error instanceof Problem) return [429, 502, 503, 504].includes(error.status);
  return error instanceof TypeError; // what fetch throws if there is no answer
}

/** An error as a sentence for people. */
export function plain(error: unknown): string {
  if (error instanceof Problem) {
    switch (error.status) {
      case 401:
        return 'This server wants a key.';
      case 403:
        return 'Your key does not allow this.';
      case 412:
        return 'The place was changed meanwhile.';
      case 429:
        return 'Too many requests. Wait a moment.';
      case 503:
        return `The server is busy: ${error.message}.`;
    }
    return sentence(error.message);
  }
  if (error instanceof TypeError) return 'The server does not answer.';
  return sentence(error instanceof Error ? error.message : String(error));
}

/** Text with a capital at its beginning and a full stop at its end. */
export function sentence(text: string): string {
  const s = text.trim();
  return s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?]$/.test(s) ? '' : '.');
}
