/** In front of a command: before whatever else the machine does, and alike for all that are compared. */
export const FIRST = ['nice', '--adjustment=-10'] as const;
