// Times OpenCV's ways to find contours, in C++: the OpenCV half of `benches/opencv_contours.sh`.
//
// Since OpenCV 4.14, `findContours` with RETR_LIST and no hierarchy asked for is another algorithm
// (TRUCO: strips of rows, on as many threads as OpenCV has). Python always asks for the hierarchy,
// so `benches/opencv.py` cannot reach it.
//
// `benches/opencv_contours.sh build` builds this against an OpenCV's source, linked statically.
// With an installed OpenCV, such as Debian's `libopencv-dev` (before 4.14 there is no TRUCO, and
// asking for no hierarchy changes nothing):
//
//     g++ -std=c++17 -O3 $(pkg-config --cflags opencv4) benches/opencv_contours.cpp
//         -o opencv_contours -lopencv_imgproc -lopencv_core         (on one line)
//
//     opencv_contours [--threads N] [--levels-up-to N] IMAGE...
//
// Images are binary PBM, white being foreground, as `trazar generate mask -o x.pbm` writes them.
// OpenCV gets one byte per pixel, 0 or 255. Each row of the table is a call: the fastest and the
// median of 5 to 50 runs, as many as fit in a second, in milliseconds. Freeing results does not
// count. "link runs" is `findContoursLinkRuns` (4.10 or later): two levels, but other points.
//
// The checksum covers all contours and points in their order; `contour_times` in `benches/support`
// prints the same one. The result of every run is compared with that of RETR_LIST with hierarchy.
//
// RETR_CCOMP and RETR_TREE can take time quadratic in the number of contours: they are timed up to
// 20,000 contours, or `--levels-up-to`.

#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Contour = std::vector<cv::Point>;
using Contours = std::vector<Contour>;

namespace {

// The next number of a PBM's header; white space and comments come before it.
int headerNumber(std::istream& in)
{
    while (std::isspace(in.peek()) || in.peek() == '#') {
        if (in.get() == '#')
            in.ignore(1 << 20, '\n');
    }
    int number = 0;
    if (!(in >> number) || number < 1)
        throw std::runtime_error("not a binary PBM: no size");
    return number;
}

// A binary PBM as bytes: 255 where it is white (0 in the file), 0 where it is black.
cv::Mat readPbm(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::runtime_error("cannot be opened");
    char magic[2] = {};
    if (!in.read(magic, 2) || magic[0] != 'P' || magic[1] != '4')
        throw std::runtime_error("not a binary PBM: it does not start with P4");
    const int width = headerNumber(in);
    const int height = headerNumber(in);
    in.get(); // the one white-space character before the pixels

    cv::Mat image(height, width, CV_8UC1);
    std::vector<char> row((size_t(width) + 7) / 8);
    for (int y = 0; y < height; y++) {
        if (!in.read(row.data(), std::streamsize(row.size())))
            throw std::runtime_error("ends before its last row");
        uchar* pixels = image.ptr<uchar>(y);
        for (int x = 0; x < width; x++)
            pixels[x] = (uchar(row[size_t(x) / 8]) >> (7 - x % 8)) & 1 ? 0 : 255;
    }
    return image;
}

// FNV-1a of all contours in their order, over 32-bit words: the number of points of each, then
// their coordinates.
uint32_t checksum(const Contours& contours)
{
    uint32_t hash = 2166136261u;
    const auto add = [&](uint32_t word) { hash = (hash ^ word) * 16777619u; };
    for (const Contour& contour : contours) {
        add(uint32_t(contour.size()));
        for (const cv::Point& point : contour) {
            add(uint32_t(point.x));
            add(uint32_t(point.y));
        }
    }
    return hash;
}

bool pointLess(const cv::Point& a, const cv::Point& b)
{
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

bool contourLess(const Contour& a, const Contour& b)
{
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), pointLess);
}

// What is in sorted `a` and not in sorted `b`.
Contours without(const Contours& a, const Contours& b)
{
    Contours rest;
    std::set_difference(
        a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest), contourLess);
    return rest;
}

// The same closed walk, from that of its points from which it is least.
Contour rotated(const Contour& contour)
{
    if (contour.empty())
        return contour;
    const cv::Point first = *std::min_element(contour.begin(), contour.end(), pointLess);
    Contour least;
    for (auto start = contour.begin(); start != contour.end(); ++start) {
        if (*start != first) // a walk can pass a point several times
            continue;
        Contour other(start, contour.end());
        other.insert(other.end(), contour.begin(), start);
        if (least.empty() || contourLess(other, least))
            least = std::move(other);
    }
    return least;
}

// How `found` differs from `expected`, in words.
std::string difference(const Contours& expected, const Contours& found)
{
    if (found == expected)
        return "the same";
    Contours a = expected;
    Contours b = found;
    std::sort(a.begin(), a.end(), contourLess);
    std::sort(b.begin(), b.end(), contourLess);
    Contours missing = without(a, b);
    Contours extra = without(b, a);
    if (missing.empty() && extra.empty())
        return "the same in another order";

    const size_t changed = missing.size();
    for (Contours* part : {&missing, &extra}) {
        std::transform(part->begin(), part->end(), part->begin(), rotated);
        std::sort(part->begin(), part->end(), contourLess);
    }
    const size_t lacking = without(missing, extra).size();
    const size_t added = without(extra, missing).size();
    std::string words;
    for (const auto& [number, what] : {std::pair(changed - lacking, " from another point"),
             std::pair(lacking, " missing"), std::pair(added, " not in the list")}) {
        if (number != 0)
            words += (words.empty() ? "" : ", ") + std::to_string(number) + what;
    }
    return words;
}

struct Options {
    int threads = cv::getNumberOfCPUs();
    size_t levelsUpTo = 20000;
};

// A way to find contours.
struct Way {
    std::string name;
    int threads;
    std::function<void(const cv::Mat&, Contours&)> find;
};

Way withHierarchy(const char* name, int mode)
{
    return {name, 1, [mode](const cv::Mat& image, Contours& contours) {
                std::vector<cv::Vec4i> hierarchy;
                cv::findContours(image, contours, hierarchy, mode, cv::CHAIN_APPROX_SIMPLE);
            }};
}

Way listAlone(int threads)
{
    return {"list, no hierarchy", threads, [](const cv::Mat& image, Contours& contours) {
                cv::findContours(image, contours, cv::RETR_LIST, cv::CHAIN_APPROX_SIMPLE);
            }};
}

#define HAS_LINK_RUNS (CV_VERSION_MAJOR * 100 + CV_VERSION_MINOR >= 410)
#if HAS_LINK_RUNS
Way linkRuns()
{
    return {"link runs", 1, [](const cv::Mat& image, Contours& contours) {
                std::vector<cv::Vec4i> hierarchy;
                cv::findContoursLinkRuns(image, contours, hierarchy);
            }};
}
#endif

// Times one way on one image, compares each run's contours with `expected`, and prints the row.
void timeWay(
    const std::string& name, const cv::Mat& image, const Way& way, const Contours& expected)
{
    cv::setNumThreads(way.threads);
    std::vector<double> times;
    double total = 0;
    std::map<uint32_t, std::string> results; // by checksum: each result is compared once
    uint32_t sum = 0;
    size_t count = 0, points = 0;
    while (times.size() < 5 || (times.size() < 50 && total < 1000)) {
        Contours contours;
        const auto start = std::chrono::steady_clock::now();
        way.find(image, contours);
        const std::chrono::duration<double, std::milli> took
            = std::chrono::steady_clock::now() - start;
        times.push_back(took.count());
        total += took.count();

        sum = checksum(contours);
        if (results.count(sum))
            continue;
        results[sum] = difference(expected, contours);
        count = contours.size();
        points = 0;
        for (const Contour& contour : contours)
            points += contour.size();
    }
    std::string words;
    for (const auto& result : results)
        words += (words.empty() ? "" : "; in other runs ") + result.second;
    std::sort(times.begin(), times.end());
    std::printf("| %s | %d × %d | OpenCV %s, %s | %d | %.2f | %.2f | %zu | %zu | %08x | %s |\n",
        name.c_str(), image.cols, image.rows, CV_VERSION, way.name.c_str(), way.threads, times[0],
        times[times.size() / 2], count, points, sum, words.c_str());
    std::fflush(stdout);
}

void run(const std::string& path, const Options& options)
{
    const cv::Mat image = readPbm(path);
    std::string name = path.substr(path.find_last_of('/') + 1);
    name = name.substr(0, name.find_last_of('.'));

    const Way list = withHierarchy("list", cv::RETR_LIST);
    Contours expected;
    cv::setNumThreads(1);
    list.find(image, expected);

    std::vector<Way> ways = {listAlone(1)};
    if (options.threads > 1)
        ways.push_back(listAlone(options.threads));
    ways.push_back(list);
    if (expected.size() <= options.levelsUpTo) {
        ways.push_back(withHierarchy("ccomp", cv::RETR_CCOMP));
        ways.push_back(withHierarchy("tree", cv::RETR_TREE));
    }
#if HAS_LINK_RUNS
    ways.push_back(linkRuns());
#endif
    for (const Way& way : ways)
        timeWay(name, image, way, expected);
}

} // namespace

int main(int argc, char** argv)
{
    const char* const usage
        = "usage: opencv_contours [--threads N] [--levels-up-to N] IMAGE.pbm...\n";
    Options options;
    std::vector<std::string> paths;
    try {
        for (int i = 1; i < argc; i++) {
            const std::string argument = argv[i];
            if (argument == "--threads" && i + 1 < argc)
                options.threads = std::stoi(argv[++i]);
            else if (argument == "--levels-up-to" && i + 1 < argc)
                options.levelsUpTo = std::stoul(argv[++i]);
            else if (argument.compare(0, 2, "--") == 0)
                throw std::invalid_argument(argument);
            else
                paths.push_back(argument);
        }
    } catch (const std::exception&) {
        paths.clear();
    }
    if (paths.empty() || options.threads < 1) {
        std::cerr << usage;
        return 2;
    }
    for (const std::string& path : paths) {
        try {
            run(path, options);
        } catch (const std::exception& error) {
            std::cerr << path << ": " << error.what() << '\n';
            return 1;
        }
    }
    return 0;
}
