// What can be wrong with the bytes of an answer, apart from what HTTP itself reports.

export type WireFaultKind = 'cut' | 'not_an_api' | 'line_too_long' | 'answer_too_long' | 'empty';

export class WireFault extends Error {
  readonly kind: WireFaultKind;

  constructor(kind: WireFaultKind, message: string) {
    super(message);
    this.name = 'WireFault';
    this.kind = kind;
  }
}
