"""What theorems take from the definition of a mechanism: each is a sentence, and the test that compares it with the code.

The kernel takes no other: a theorem names its hypotheses, and every certificate that rests on it prints their sentences.
"""

_MECHANISMS, _LAWS = "tests/mechanisms/test_", "tests/laws/test_laws.py::test_"

HYPOTHESES = {
    "public": (
        "what is drawn before the value is looked at does not depend on it, so that the laws are those given what was drawn",
        f"{_LAWS}the_accountant_agrees_with_enumeration",
    ),
    "independent": (
        "the parts of a view are independent, and all parts that are not named have the same law on both inputs",
        f"{_LAWS}the_accountant_agrees_with_enumeration",
    ),
    "steps": (
        "the inputs are some steps of 1 in one count apart; the loss of the two is the sum of the losses of the steps",
        f"{_MECHANISMS}count_noise.py::test_the_pattern_of_a_change_matters_and_not_its_sum_alone",
    ),
    "geometric noise": (
        "a noise z has probability (1-alpha)/(1+alpha) alpha**|z|; at an end of a range lies what would lie beyond it, too",
        f"{_MECHANISMS}geometric.py::test_truncation_changes_no_loss_and_no_probability_of_one",
    ),
    "Polya noise of large shape": (
        "it is discrete Laplace noise and independent Polya noise of shape - 1, if that is not 0: what is added later hides",
        f"{_MECHANISMS}count_noise.py::test_the_samplers_have_their_laws",
    ),
    "Polya noise of small shape": (
        "P[X = k] is even, and P[X = k + 1] / P[X = k] a mean of alpha (m - 1 + shape) / m, m >= k + 1; of the views x - k and "
        "x + 1 + k one step exchanges the probabilities, and which k it is tells nothing",
        f"{_MECHANISMS}count_noise.py::test_the_samplers_have_their_laws",
    ),
    "Laplace noise": (
        "the densities at y have the log-ratio (|y - x'| - |y - x|)/b; the noises are independent, and what they are added to "
        "differs by no more than is stated",
        f"{_MECHANISMS}laplace.py::test_delta_is_the_integral_for_two_coordinates",
    ),
    "columns of bits": (
        "every coordinate is a bit plus noise, 0 for an absent user: two differ by 1 or not at all",
        f"{_MECHANISMS}bucket_heavy_hitter.py::test_the_proofs_bound_both_relations_by_all_coordinates",
    ),
    "columns of signs": (
        "a value's column is 1 or -1 at L + 1 measurements of one bucket of each row, else 0; an absent user's is 0",
        f"{_MECHANISMS}glps_heavy_hitter.py::test_a_column_has_in_one_bucket_of_each_row_a_sign_and_the_bits_that_turn_it",
    ),
    "projections": (
        "every coordinate is entry or -entry plus noise, 0 for an absent user; products are functions of projections",
        f"{_MECHANISMS}jl_heavy_hitter.py::test_the_largest_loss_of_products_is_the_sum_of_their_distances",
    ),
    "entries": (
        "the entries of an input's column are from -1 to 1; those of an absent user are 0",
        f"{_MECHANISMS}bassily_smith.py::test_no_two_vectors_are_told_apart_better_than_only_ones_and_only_minus_ones",
    ),
    "positions": (
        "the law of a position depends on the input through the probabilities of its draws to be accepted only, is linear in each, "
        "rises with that of its own draw and falls with all others; silent_lowest = (1 - lowest)^(slots - 1), silent_highest alike",
        f"{_MECHANISMS}genprot.py::test_the_probability_of_a_position_by_the_integral_is_that_by_the_count",
    ),
    "draws": (
        "an answer is 'yes' with a probability between lowest and highest, whatever the draw and the input are",
        f"{_MECHANISMS}genprot.py::test_the_form_with_one_bit_costs_what_is_specified_on_any_base",
    ),
    "orthogonal rows": (
        "rows 1 to k of the K x K Hadamard matrix, K > k, are orthogonal to each other and to row 0, all +1",
        f"{_MECHANISMS}one_report.py::test_a_column_supports_a_value_where_its_row_is_plus_one",
    ),
    "hash functions": (
        "some hash function tells two values apart: (a x + b, a x' + b) mod the prime takes every pair of residues",
        f"{_MECHANISMS}one_report.py::test_every_two_values_collide_as_often_as_stated",
    ),
    "signs": (
        "the sign of x is (-1)^<s, x> with s public and not 0: with its bit j set, 0 and 2^j have opposite signs; of two vectors "
        "some d is odd in both",
        f"{_MECHANISMS}public_questions.py::test_two_values_have_opposite_signs_in_all_that_a_user_tells",
    ),
    "subsets": (
        "C(k-1, d) = C(k-1, d-1) (k-d)/d and C(k-2, d-2) = C(k-1, d-1) (d-1)/(k-1) subsets, and each is as likely as its kind",
        f"{_MECHANISMS}one_report.py::test_every_subset_of_the_size_is_equally_likely",
    ),
    "filters": (
        "a value sets at most `hashes` bits, and each bit is randomized by itself, by what it is",
        f"{_MECHANISMS}noisy_bits.py::test_differences_are_those_of_signatures_and_none_is_larger",
    ),
    "kept": (
        "given what is kept, further reports do not depend on the value, so that they cost no more than what is kept",
        f"{_MECHANISMS}noisy_bits.py::test_reports_approach_the_lifetime_which_flips_do_not_change",
    ),
    "copies": (
        "given all earlier reports, a report depends on the kept copy of the value held alone, which is wrong with probability f/2",
        f"{_MECHANISMS}memoized.py::test_no_two_streams_are_told_apart_better_than_the_lifetime_s_epsilon_and_some_are_as_well",
    ),
    "one value": (
        "where one value is kept, all epochs show its report, whatever the stream",
        f"{_MECHANISMS}memoized.py::test_one_kept_answer_costs_one_report_whatever_streams_are_compared",
    ),
    "one pattern": (
        "both streams repeat values in the same epochs, so that a report that is shown again tells nothing more",
        f"{_MECHANISMS}memoized.py::test_between_streams_of_one_pattern_the_profile_is_that_of_all_pairs",
    ),
    "buckets": (
        "reports are of the same drawn buckets; of a value two bits tell, of its bucket and of that of the other stream's value, "
        "and of a bucket two, kept with either stream's value: of whichever are fewer",
        f"{_MECHANISMS}memoized.py::test_between_streams_of_one_pattern_the_profile_is_that_of_all_pairs",
    ),
    "transcripts": (
        "given the updates so far, a user's bits are independent, and their laws depend on the stream alone; counters are checked "
        "on every path, so that the numbers of votes and reports hold for every adversary",
        f"{_MECHANISMS}thresh.py::test_epsilon_is_that_of_all_streams_all_updates_and_all_transcripts",
    ),
    "votes": (
        "a prefix has at most as many votes as users are drawn, and noise adds at most its bound",
        f"{_MECHANISMS}trie_heavy_hitter.py::test_the_law_is_that_of_the_pseudocode_over_all_batches_and_choices",
    ),
}
