// What a benchmark reports: a ratio measured against a baseline of the same run, with the goal it must meet.

export interface Result {
  name: string;
  value: number;
  unit: string;
  goal: string;
  met: boolean;
  /** The figures behind the ratio. */
  detail: string;
}

interface Measured {
  name: string;
  value: number;
  unit?: string;
  detail: string;
}

export const atLeast = (goal: number, { unit = 'x', ...measured }: Measured): Result => ({
  ...measured,
  unit,
  goal: `at least ${goal}${unit}`,
  met: measured.value >= goal,
});

export const atMost = (goal: number, { unit = 'x', ...measured }: Measured): Result => ({
  ...measured,
  unit,
  goal: `at most ${goal}${unit}`,
  met: measured.value <= goal,
});

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

export const lineOf = ({ name, value, unit, goal, met, detail }: Result): string =>
  `${met ? 'ok  ' : 'MISS'} ${name}: ${value.toFixed(2)}${unit} (${goal}); ${detail}`;
