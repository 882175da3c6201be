// What can be wrong with an answer: its bytes, or its status.

export type WireFaultKind = 'cut' | 'not_an_api' | 'line_too_long' | 'answer_too_long' | 'empty' | 'reported';

export class WireFault extends Error {
  readonly kind: WireFaultKind;

  constructor(kind: WireFaultKind, message: string) {
    super(message);
    this.name = 'WireFault';
    this.kind = kind;
  }
}

/** An answer with a status of 400 or more, with the field names that the SDK uses for the same thing. */
export class RefusedCall extends Error {
  readonly statusCode: number;
  readonly responseBody: string;
  readonly responseHeaders: Record<string, string>;

  constructor(statusCode: number, responseBody: string, responseHeaders: Record<string, string>) {
    super(`The server answered ${statusCode}.`);
    this.name = 'RefusedCall';
    this.statusCode = statusCode;
    this.responseBody = responseBody;
    this.responseHeaders = responseHeaders;
  }
}
