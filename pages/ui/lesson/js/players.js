// Who plays the game, and who found which invented token.

export const PLAYERS = [["you", "You"], ["rauq", "RAUQ"], ["probability", "Probability"]];

export const named = (puzzle, guess) => ({ you: guess, rauq: puzzle.rauq, probability: puzzle.probability });
export const found = (puzzle, token) => puzzle.invented.includes(token);

// How many of the answered puzzles each player got right.
export function scores(puzzles, guesses) {
  const tally = { you: 0, rauq: 0, probability: 0 };
  guesses.forEach((guess, i) => {
    for (const [player, token] of Object.entries(named(puzzles[i], guess))) tally[player] += Number(found(puzzles[i], token));
  });
  return tally;
}
